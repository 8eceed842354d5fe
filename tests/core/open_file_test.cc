#include "nascent/core/open_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <mutex>
#include <shared_mutex>

#include "nascent/core/files.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

TEST(OpenFile, LocksHoldAgainstAllWhoOpenedItThemselves) {
  const TemporaryFolder folder;
  const OpenFile one = OpenFile::at(folder / "x", O_RDWR | O_CREAT), other = OpenFile::at(folder / "x", O_RDWR);
  {
    const std::shared_lock shared(one);
    EXPECT_FALSE(other.try_lock());
    EXPECT_TRUE(other.try_lock_shared());
    other.unlock_shared();
  }
  {
    const std::lock_guard alone(one);
    EXPECT_FALSE(other.try_lock_shared());
  }
  {
    const OpenFile closed = OpenFile::at(folder / "x", O_RDWR);
    closed.lock();
  }
  EXPECT_TRUE(other.try_lock());
}

TEST(OpenFile, KnowsWhetherItsPathStillLeadsToIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(OpenFile::at(folder / "x", O_RDWR));
  const OpenFile file = OpenFile::at(folder / "x", O_RDWR | O_CREAT);
  EXPECT_TRUE(file.is_at(folder / "x"));
  write_file(folder / "x", "written beside and renamed");
  EXPECT_FALSE(file.is_at(folder / "x"));
  std::filesystem::remove(folder / "x");
  EXPECT_FALSE(file.is_at(folder / "x"));
}

}  // namespace
}  // namespace nascent
