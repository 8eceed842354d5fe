#include "nascent/core/framed_file.h"

#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr FileFormat kNotes = {
    .magic = "NOTES..\n", .version = 3, .stranger = "holds no notes.", .remedy = "Write them again."};

std::string example() {
  FramedFileWriter file(kNotes, "an index", aligned_in_file(5) + aligned_in_file(64));
  file.add("first", 5);
  file.add(std::string(64, 'x').data(), 64);
  return std::move(file).finish();
}

auto read(const std::string& bytes) {
  return [bytes] { read_framed_file(kNotes, bytes, "a.notes"); };
}

TEST(FramedFile, GivesBackWhatWasWritten) {
  const std::string bytes = example();
  const FramedFile file = read_framed_file(kNotes, bytes, "a.notes");
  EXPECT_EQ(file.index, "an index");
  EXPECT_EQ(file.data, "first" + std::string(59, '\0') + std::string(64, 'x'));
  EXPECT_EQ((file.data.data() - bytes.data()) % 64, 0);
  EXPECT_EQ(bytes.size(), 64 + 128 + 4u);  // header and index, data, checksum
}

// The CRC of bytes that end with their own CRC is 2144df1c, whatever the bytes: all models had that digest.
TEST(FramedFile, DigestsTellFilesApart) {
  const auto file_of = [](const std::string& index) { return FramedFileWriter(kNotes, index, 0).finish(); };
  const std::string first = file_of("first"), second = file_of("second");
  EXPECT_EQ(crc32(first), crc32(second));
  EXPECT_EQ(digest_of_framed_file(first), digest_of_framed_file(file_of("first")));
  EXPECT_NE(digest_of_framed_file(first), digest_of_framed_file(second));
  EXPECT_EQ(digest_of_framed_file("").size(), 8u);
}

TEST(FramedFile, SaysWhatIsWrong) {
  std::string newer = example(), flipped = example();
  newer[8] = 4;
  flipped[70] ^= 1;
  EXPECT_THAT(read("text"), ThrowsMessage<Error>("a.notes holds no notes."));
  EXPECT_THAT(read(newer),
              ThrowsMessage<Error>(HasSubstr("format version 4; this version of Nascent reads version 3")));
  EXPECT_THAT(read(example().substr(0, 20)), ThrowsMessage<Error>(HasSubstr("cut short, at 20 bytes")));
  EXPECT_THAT(read(example().substr(0, 190)), ThrowsMessage<Error>(HasSubstr("190 bytes, its header announces 196")));
  EXPECT_THAT(read(flipped), ThrowsMessage<Error>(HasSubstr("its checksum is")));
  EXPECT_THAT(read(flipped), ThrowsMessage<Error>(HasSubstr("Write them again.")));
}

// A header that announces more than there can be must not be added up before it is doubted.
TEST(FramedFile, HugeLengthsAreRefused) {
  std::string bytes = example();
  for (size_t at = 16; at < 24; ++at) bytes[at] = '\xff';
  EXPECT_THAT(read(bytes), ThrowsMessage<Error>(HasSubstr("is damaged")));
}

}  // namespace
}  // namespace nascent
