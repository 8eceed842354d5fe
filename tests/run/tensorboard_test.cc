#include "nascent/run/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "nascent/core/files.h"
#include "nascent/run/event_store.h"
#include "nascent/run/subprocess.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// CRC-32C bit by bit, by its definition: the remainder of a polynomial.
uint32_t checksum_by_definition(std::string_view bytes) {
  uint32_t sum = 0xffffffff;
  for (const char c : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = ((sum ^ (static_cast<unsigned char>(c) >> bit)) & 1) != 0;
      sum = (sum >> 1) ^ (one ? 0x82f63b78U : 0);
    }
  }
  return ~sum;
}

template <class T>
T read_number(const std::string& bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

bool masked_checksum_fits(std::string_view bytes, uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17 | rotated << 15) == checksum_by_definition(bytes);
}

// The messages of a file, every checksum tested.
std::vector<std::string> records_of(const std::string& file) {
  std::vector<std::string> all;
  for (size_t at = 0; at < file.size();) {
    const auto length = read_number<uint64_t>(file, at);
    EXPECT_TRUE(masked_checksum_fits(file.substr(at, 8), read_number<uint32_t>(file, at + 8)));
    all.push_back(file.substr(at + 12, length));
    EXPECT_TRUE(masked_checksum_fits(all.back(), read_number<uint32_t>(file, at + 12 + length)));
    at += 16 + length;
  }
  return all;
}

RunDirectory sample_run_in(const std::filesystem::path& path) {
  OptionTable table;
  RunDirectory run = RunDirectory::create(path, sample_description(), table);
  EventStore events(run.events_path());
  events.emit({"step", 0, 1, {{"loss", 1.5}, {"note", "text"}}});
  const std::string first = to_text(sample_genotype(), "json");
  events.emit({"epoch", 0, 10, {{"valid_top1", 62.25}, {"seconds", 30}}});
  events.emit({"architecture", 0, 10, {{"genotype", first}}});
  events.emit({"architecture", 1, 20, {{"genotype", first}}});  // the same cell: no second picture
  run.write_genotype(sample_genotype());
  return run;
}

TEST(TensorBoard, ChecksumOfKnownBytes) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);  // RFC 3720's check value
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
}

TEST(TensorBoard, RecordsHoldEveryNumber) {
  TemporaryDirectory folder;
  const RunDirectory run = sample_run_in(folder / "run");
  const TensorBoardFile written = write_tensorboard(run, folder / "board");
  EXPECT_EQ(written.scalars, 3u);
  EXPECT_THAT(written.path.filename().string(), HasSubstr("events.out.tfevents."));
  const std::vector<std::string> records = records_of(read_file(written.path));
  ASSERT_EQ(records.size(), 3 + written.pictures);
  // The first field of each is when, a double; the next of the first is the format's name.
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_EQ(read_number<double>(records[2], 1) - read_number<double>(records[1], 1), 30);
  // Written again, the same bytes.
  const std::string before = read_file(written.path);
  EXPECT_EQ(read_file(write_tensorboard(run, folder / "board").path), before);
}

// protoc knows nothing of us: it prints what any reader of protocol buffers finds.
TEST(TensorBoard, AnotherReaderFindsTheSame) {
  TemporaryDirectory folder;
  const TensorBoardFile written = write_tensorboard(sample_run_in(folder / "run"), folder / "board");
  const std::vector<std::string> records = records_of(read_file(written.path));
  const auto decoded = [&](size_t i) { return run_program({"protoc", "--decode_raw"}, records[i]); };
  if (!decoded(0)) GTEST_SKIP() << "THE RECORDS ARE NOT READ BY ANOTHER PROGRAM: there is no protoc.";
  // 0x3fc00000 is 1.5, 0x42790000 is 62.25, 0x41f00000 is 30.
  EXPECT_THAT(decoded(1)->out, HasSubstr("2: 1\n5 {\n  1 {\n    1: \"step/loss\"\n    2: 0x3fc00000\n  }\n}"));
  EXPECT_THAT(decoded(2)->out, HasSubstr("1: \"epoch/valid_top1\"\n    2: 0x42790000"));
  EXPECT_THAT(decoded(2)->out, HasSubstr("1: \"epoch/seconds\"\n    2: 0x41f00000"));
  if (!run_program({"dot", "-V"}, "")) GTEST_SKIP() << "THE PICTURES ARE NOT TESTED: there is no dot.";
  EXPECT_EQ(written.pictures, 2u);
  EXPECT_THAT(decoded(3)->out, HasSubstr("1: \"cell over time\""));
  EXPECT_THAT(decoded(4)->out, HasSubstr("1: \"cell found\""));
  EXPECT_THAT(decoded(4)->out, HasSubstr("\\211PNG"));
}

TEST(TensorBoard, ARunWithoutEvents) {
  TemporaryDirectory folder;
  OptionTable table;
  const RunDirectory run = RunDirectory::create(folder / "run", sample_description(), table);
  const TensorBoardFile written = write_tensorboard(run, folder / "board");
  EXPECT_EQ(written.scalars, 0u);
  EXPECT_EQ(records_of(read_file(written.path)).size(), 1u);
}

}  // namespace
}  // namespace nascent
