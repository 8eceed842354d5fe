#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

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

// 'score --csv /dev/full' as root made a plain file of the device.
TEST_F(FilesTest, DevicesAndPipesAreWrittenToAsTheyAre) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string heard;
  std::thread listener([&] { heard = read_file(folder / "pipe"); });
  write_file(folder / "pipe", "hello");
  listener.join();
  EXPECT_EQ(heard, "hello");
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  if (::access("/dev/full", W_OK) == 0) {
    EXPECT_THROW(write_file("/dev/full", "x"), Error);
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
  }
}

TEST_F(FilesTest, LinksAreFollowed) {
  write_file(folder / "there" / "target", "old");
  fs::create_symlink("there/target", folder / "link");
  fs::create_symlink("there/new", folder / "dangling");
  write_file(folder / "link", "new");
  write_file(folder / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "there" / "target"), "new");
  EXPECT_EQ(read_file(folder / "there" / "new"), "made");
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_THROW(write_file(folder / "a", "x"), Error);
}

TEST_F(FilesTest, InflatingStopsAtWhatWasAnnounced) {
  const auto pack = [&](const std::string& name, size_t size) {
    gzFile out = gzopen((folder / name).c_str(), "wb1");
    const std::string chunk(1 << 20, '\0');
    for (size_t done = 0; done < size; done += chunk.size()) gzwrite(out, chunk.data(), 1 << 20);
    gzclose(out);
  };
  pack("small.gz", 3 << 20);
  EXPECT_EQ(read_maybe_gzip(folder / "small.gz", [](auto) { return 3 << 20; }).size(), 3u << 20);
  EXPECT_THROW(read_maybe_gzip(folder / "small.gz", [](auto) { return (3 << 20) - 1; }), Error);
  pack("bomb.gz", 80 << 20);  // a thousand times its size
  EXPECT_THROW(read_maybe_gzip(folder / "bomb.gz"), Error);
}

TEST(Progress, WhatTakesLongSaysSoAfterItsFirstSteps) {
  testing::internal::CaptureStderr();
  {
    Progress progress("long", 1000);
    progress.advise([](double seconds) { return seconds > 1000 ? "a shorter way" : ""; });
    std::this_thread::sleep_for(std::chrono::milliseconds(4100));
    progress.advance(1);
    progress.advance(1);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::AllOf(HasSubstr("long: about 1 h"), HasSubstr("; a shorter way")));
  EXPECT_EQ(said.find("about"), said.rfind("about")) << "once";
}

TEST(Progress, DurationsReadWell) {
  EXPECT_EQ(duration_text(42.3), "42 s");
  EXPECT_EQ(duration_text(1500), "25 min");
  EXPECT_EQ(duration_text(5 * 3600 + 45 * 60), "5 h 45 min");
  EXPECT_EQ(duration_text(7200), "2 h");
  EXPECT_EQ(duration_text(51 * 3600), "2 days 3 h");
}

TEST(Files, Crc32KnownAnswer) { EXPECT_EQ(crc32("123456789"), 0xCBF43926u); }

}  // namespace
}  // namespace nascent
