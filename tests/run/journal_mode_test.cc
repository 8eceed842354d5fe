#include "nascent/run/journal_mode.h"

#include <gtest/gtest.h>

namespace nascent {
namespace {

TEST(JournalMode, IsTheSlowerOneOnNetworks) {
  EXPECT_EQ(journal_mode_of(0xef53), JournalMode::write_ahead);      // ext4
  EXPECT_EQ(journal_mode_of(0x01021994), JournalMode::write_ahead);  // tmpfs
  EXPECT_EQ(journal_mode_of(0x794c7630), JournalMode::write_ahead);  // overlayfs, as in containers
  EXPECT_EQ(journal_mode_of(0x6969), JournalMode::rollback);         // NFS
  EXPECT_EQ(journal_mode_of(0xff534d42), JournalMode::rollback);     // CIFS
  EXPECT_EQ(journal_mode_of(0x0bd00bd0), JournalMode::rollback);     // Lustre
}

TEST(JournalMode, OfAFolderThatIsNotThereIsTheUsualOne) {
  EXPECT_EQ(journal_mode_in("/no/such/folder"), JournalMode::write_ahead);
}

}  // namespace
}  // namespace nascent
