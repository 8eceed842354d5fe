#include "nascent/core/zip.h"

#include <gmock/gmock.h>

#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/pickle.h"

namespace nascent {
namespace {

std::string number(uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

// An archive of one stored entry; with `wide`, its numbers stand in 64-bit fields.
std::string archive(const std::string& name, const std::string& contents, bool wide = false, int method = 0) {
  const uint64_t all = 0xffffffff, size = contents.size();
  const std::string local = number(0x04034b50, 4) + number(0, 2) + number(0, 2) + number(method, 2) + number(0, 4) +
                            number(crc32(contents), 4) + number(size, 4) + number(size, 4) + number(name.size(), 2) +
                            number(0, 2) + name;
  const std::string extra = wide ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(0, 8) : "";
  const std::string central = number(0x02014b50, 4) + number(0, 4) + number(0, 2) + number(method, 2) + number(0, 4) +
                              number(crc32(contents), 4) + number(wide ? all : size, 4) + number(wide ? all : size, 4) +
                              number(name.size(), 2) + number(extra.size(), 2) + number(0, 2) + number(0, 8) +
                              number(wide ? all : 0, 4) + name + extra;
  const uint64_t start = local.size() + size;
  std::string end64;
  if (wide) {
    end64 = number(0x06064b50, 4) + number(44, 8) + number(0, 4) + number(0, 8) + number(1, 8) + number(1, 8) +
            number(central.size(), 8) + number(start, 8) + number(0x07064b50, 4) + number(0, 4) +
            number(start + central.size(), 8) + number(1, 4);
  }
  return local + contents + central + end64 + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2) +
         number(central.size(), 4) + number(wide ? all : start, 4) + number(0, 2);
}

TEST(Zip, StoredEntriesComeBack) {
  for (const bool wide : {false, true}) {
    const std::string bytes = archive("a/data.pkl", "hello", wide);
    EXPECT_EQ(read_zip(bytes, "a.zip").at("a/data.pkl"), "hello") << wide;
  }
}

TEST(Zip, DamagedAndCompressedArchivesAreRefused) {
  const std::string good = archive("name", "contents", true);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(read_zip(good.substr(0, length), "cut"), Error) << length;
  }
  std::string changed = good;
  changed[35] = 'X';
  EXPECT_THROW(read_zip(changed, "changed"), Error);
  EXPECT_THAT([&] { read_zip(archive("name", "contents", false, 8), "deflated"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("compressed")));
}

TEST(Pickle, PersistentIdsBecomeData) {
  const Pickle pickle = parse_pickle(std::string("\x80\x02X\x03\0\0\0abcQ.", 13), "test");
  EXPECT_EQ(pickle.root().object_name(), "persistent");
  EXPECT_EQ(pickle.root().items().at(0)->text(), "abc");
  EXPECT_EQ(parse_pickle("Pabc\n.", "test").root().items().at(0)->text(), "abc");
}

TEST(CsvField, IsQuotedWhereItMustBe) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"a\"\n"), "\"say \"\"a\"\"\n\"");
}

}  // namespace
}  // namespace nascent
