#include "nascent/core/line_index.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "nascent/core/checked_lines.h"
#include "nascent/core/files.h"
#include "nascent/core/random.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

// Published values of FNV-1a with 128 bits.
TEST(Hash128, KnownAnswers) {
  EXPECT_EQ(hash128(""), (Hash128{0x6c62272e07bb0142, 0x62b821756295c58d}));
  EXPECT_EQ(hash128("a"), (Hash128{0xd228cb696f1a8caf, 0x78912b704e4a8964}));
  EXPECT_EQ(hash128("foobar"), (Hash128{0x343e1662793c64bf, 0x6f0d3597ba446f18}));
}

TEST(CheckedLines, WholeLinesWithTheirChecksums) {
  const std::string one = checked_line("one\tx=1"), two = checked_line("two"), bytes = one + two + "12345678\tcut sh";
  EXPECT_EQ(one.size(), 8 + 1 + 7 + 1u);
  CheckedLines lines(bytes);
  ASSERT_TRUE(lines.next());
  EXPECT_TRUE(lines.good());
  EXPECT_EQ(lines.body(), "one\tx=1");
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.offset(), one.size());
  EXPECT_EQ(lines.body(), "two");
  EXPECT_FALSE(lines.next()) << "the last has no line feed";
  EXPECT_EQ(lines.end(), one.size() + two.size());
  for (size_t at = 0; at + 1 < one.size(); ++at) {
    std::string changed = one;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CheckedLines damaged(changed);
    ASSERT_TRUE(damaged.next());
    EXPECT_FALSE(damaged.good()) << at;
  }
  for (const std::string text : {"\n", "\t\n", "12345678\n", "1234567g\tx\n"}) {
    CheckedLines strange(text);
    ASSERT_TRUE(strange.next());
    EXPECT_FALSE(strange.good());
  }
}

// Five megabytes of lines, so that an index is kept; some keys have several lines.
class LineIndexTest : public testing::Test {
 protected:
  void append(int count) {
    std::ofstream file(lines(), std::ios::app | std::ios::binary);
    RandomStream random(1, "lines", {static_cast<uint64_t>(++round_)});
    for (int i = 0; i < count; ++i) {
      const std::string key = fmt::format("key-{}", random.below(20000));
      offsets_[key].push_back(size_);
      const std::string line = checked_line(key + "\t" + std::string(200, 'x'));
      size_ += line.size();
      file << line;
    }
  }
  std::string lines() const { return (folder_ / "x.lines").string(); }
  std::string beside() const { return lines() + ".index"; }

  void expect_all(const LineIndex& index) const {
    for (const auto& [key, offsets] : offsets_) ASSERT_EQ(index.find(key), offsets) << key;
    EXPECT_TRUE(index.find("key-20001").empty());
    EXPECT_EQ(index.end(), size_);
  }

  TemporaryFolder folder_;
  std::map<std::string, std::vector<uint64_t>> offsets_;
  uint64_t size_ = 0;
  int round_ = 0;
};

TEST_F(LineIndexTest, FindsWhatAWholeReadFinds) {
  append(25000);
  {
    LineIndex index(beside());
    index.read(MappedFile(lines()));
    expect_all(index);
  }
  ASSERT_TRUE(std::filesystem::exists(beside()));
  const std::string kept = read_file(beside());
  append(1000);  // fewer than are worth a new index
  LineIndex index(beside());
  index.read(MappedFile(lines()));
  expect_all(index);
  EXPECT_EQ(read_file(beside()), kept);
  // Own lines are found at once; those of others when the index is kept.
  offsets_["own"] = {size_};
  const std::string own = checked_line("own\tx=1");
  std::ofstream(lines(), std::ios::app) << own;
  index.add("own", size_);
  EXPECT_EQ(index.find("own"), offsets_["own"]);
  size_ += own.size();
  append(25000);
  EXPECT_TRUE(index.keep(MappedFile(lines())));
  expect_all(index);
  EXPECT_NE(read_file(beside()), kept);
}

TEST_F(LineIndexTest, AnIndexOfOtherLinesIsNotUsed) {
  append(25000);
  LineIndex(beside()).read(MappedFile(lines()));
  const std::string of_first = read_file(beside());
  for (const std::string what : {"replaced", "shortened", "damaged", "strange"}) {
    std::filesystem::remove(lines());
    offsets_.clear();
    size_ = 0;
    append(what == "shortened" ? 100 : 26000);
    std::string bytes = of_first;
    if (what == "damaged") bytes[bytes.size() / 2] ^= 1;
    if (what == "strange") bytes = "something else";
    write_file(beside(), bytes);
    LineIndex index(beside());
    index.read(MappedFile(lines()));
    expect_all(index);
  }
}

TEST_F(LineIndexTest, DamagedLinesAreCountedAndLeftOut) {
  append(25000);
  std::string bytes = read_file(lines());
  const auto first = offsets_.begin();
  bytes[first->second.front() + 10] ^= 1;
  write_file(lines(), bytes + "12345678\tcut sho");
  first->second.erase(first->second.begin());
  for (int i = 0; i < 2; ++i) {  // read, and from the index
    LineIndex index(beside());
    index.read(MappedFile(lines()));
    expect_all(index);
    EXPECT_EQ(index.damaged(), 1u);
  }
}

TEST_F(LineIndexTest, WhereNoIndexCanBeKeptLinesAreFoundAllTheSame) {
  append(25000);
  LineIndex index((folder_ / "x.lines/no-folder").string());
  index.read(MappedFile(lines()));
  expect_all(index);
  EXPECT_FALSE(index.is_long());
}

// What is written there is gone. The lines that it covered were never found again, and the next index left them out.
TEST_F(LineIndexTest, AnIndexThatCannotBeReadBackLosesNothing) {
  append(25000);
  std::filesystem::create_symlink("/dev/null", beside());
  LineIndex index(beside());
  index.read(MappedFile(lines()));
  expect_all(index);
  append(25000);
  LineIndex next(beside());
  next.read(MappedFile(lines()));
  expect_all(next);
}

}  // namespace
}  // namespace nascent
