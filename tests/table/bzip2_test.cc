#include "nascent/table/bzip2.h"

#include <bzlib.h>

#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Bzip2 = TableTest;

std::string compressed(std::string text) {
  std::string bytes(text.size() + text.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(bytes.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(bytes.data(), &size, text.data(), static_cast<unsigned>(text.size()), 9, 0, 0),
            BZ_OK);
  bytes.resize(size);
  return bytes;
}

TEST_F(Bzip2, WhatWasCompressedComesBack) {
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i * 2654435761u);
  EXPECT_EQ(read_bzip2(file("a.bz2", compressed(text))), text);
  EXPECT_EQ(read_bzip2(file("b.bz2", compressed(""))), "");
}

TEST_F(Bzip2, EveryTruncationIsAnError) {
  const std::string whole = compressed("what is this but a short text, repeated, repeated, repeated?");
  for (size_t size = 4; size < whole.size(); ++size) {
    const std::string text = error_of([&] { read_bzip2(file("cut.bz2", whole.substr(0, size))); });
    EXPECT_THAT(text, HasSubstr("cut.bz2 is truncated")) << size;
  }
  std::string changed = whole;
  changed[20] ^= 1;
  EXPECT_THAT(error_of([&] { read_bzip2(file("bad.bz2", changed)); }), HasSubstr("damaged"));
  EXPECT_THAT(error_of([&] { read_bzip2(file("text.bz2", "plain text")); }), HasSubstr("not a bzip2 file"));
  EXPECT_THAT(error_of([&] { read_bzip2(path("missing.bz2")); }), HasSubstr("missing.bz2"));
}

// 80 MB of one letter, as bzip2 writes them; as many again would cost few bytes more.
constexpr char kBomb[] =
    "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xb4\xeb\x54\xa0\x01\x5f\x8e\x00\x80\x80"
    "\x40\x00\x08\x20\x00\x30\x80\x4d\x46\x42\xa0\x25\xa9\x0a\x80\x97\x31\x41\x59\x26"
    "\x53\x59\x5a\x2f\x26\xb7\x01\x22\xf6\x40\x80\xa0\x00\x00\x40\x00\x08\x20\x00\x30"
    "\xcc\x05\x29\xa7\x18\x4a\xa4\x23\x60\x4a\xa4\x23\xc5\xdc\x91\x4e\x14\x24\x0c\xfe"
    "\x63\xfd\x80";

TEST_F(Bzip2, ABombIsNotInflated) {
  const std::string bomb(kBomb, sizeof(kBomb) - 1);
  ASSERT_EQ(bomb.size(), 83u);
  EXPECT_THAT(error_of([&] { read_bzip2(file("bomb.bz2", bomb)); }),
              AllOf(HasSubstr("bomb.bz2 inflates to more than"), HasSubstr("Fetch it again")));
}

}  // namespace
}  // namespace nascent
