#include "nascent/table/bzip2.h"

#include <bzlib.h>

#include "table/fixtures.h"

namespace nascent {
namespace {

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

}  // namespace
}  // namespace nascent
