#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/progress.h"
#include "nascent/core/registry.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Text, EditDistanceCountsSwapsAsOne) {
  EXPECT_EQ(edit_distance("epochs", "epochs"), 0);
  EXPECT_EQ(edit_distance("epcohs", "epochs"), 1);
  EXPECT_EQ(edit_distance("epoch", "epochs"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Text, ClosestGivesUpOnStrangers) {
  EXPECT_EQ(closest("cosin", {"linear", "cosine"}), "cosine");
  EXPECT_EQ(closest("zzzzzz", {"linear", "cosine"}), std::nullopt);
}

TEST(Text, SplitsAndTrims) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(trim(" \ta b\n"), "a b");
  EXPECT_EQ(trim("  "), "");
}

TEST(Progress, ClockText) {
  EXPECT_EQ(clock_text(5.2), "0:05");
  EXPECT_EQ(clock_text(65), "1:05");
  EXPECT_EQ(clock_text(3723), "1:02:03");
}

struct Shape {
  static std::string kind() { return "shape"; }
  using Registry = nascent::Registry<Shape, int(int)>;
};
NASCENT_REGISTER(Shape, "square", "x times x", [](int x) { return x * x; });
NASCENT_REGISTER(Shape, "double", "twice x", [](int x) { return 2 * x; });

TEST(Registry, MakesByNameAndListsTheKnown) {
  auto& registry = Shape::Registry::instance();
  EXPECT_EQ(registry.make("square", 3), 9);
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"double", "square"}));
  try {
    registry.make("sqare", 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("no shape 'sqare'"), HasSubstr("'square'?"), HasSubstr("double, square")));
  }
}

TEST(Registry, RefusesANameThatIsTaken) {
  auto& registry = Shape::Registry::instance();
  try {
    registry.add("square", "another", [](int x) { return x; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'square'"), HasSubstr("another name")));
  }
  EXPECT_EQ(registry.make("square", 3), 9);
}

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("nascent-files-" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(FilesTest, WritesWholeFilesAndLeavesNothingBeside) {
  write_file(folder / "deep" / "a", "one");
  write_file(folder / "deep" / "a", "two");
  EXPECT_EQ(read_file(folder / "deep" / "a"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "deep"), fs::directory_iterator()), 1);
}

TEST_F(FilesTest, FailedWriteLeavesTheOldFile) {
  fs::create_directories(folder / "a");  // a folder cannot be replaced by a file
  EXPECT_THROW(write_file(folder / "a", "text"), Error);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(FilesTest, MissingFileIsNamed) {
  try {
    read_file(folder / "absent");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("absent"), HasSubstr("No such file")));
  }
}

TEST_F(FilesTest, ReadsGzipAndPlainAlike) {
  const std::string text(100000, 'x');
  write_file(folder / "plain", text);
  gzFile out = gzopen((folder / "packed.gz").c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  EXPECT_EQ(read_maybe_gzip(folder / "plain"), text);
  EXPECT_EQ(read_maybe_gzip(folder / "packed.gz"), text);
  const std::string packed = read_file(folder / "packed.gz");
  write_file(folder / "cut.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THROW(read_maybe_gzip(folder / "cut.gz"), Error);
}

TEST(Files, Crc32KnownAnswer) { EXPECT_EQ(crc32("123456789"), 0xCBF43926u); }

}  // namespace
}  // namespace nascent
