#include "nascent/data/idx.h"

#include "data/fixtures.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxTest : public DataTest {};

TEST_F(IdxTest, ReadsPlainAndGzipped) {
  const std::string text = idx_text({2, 1, 2}, "abcd");
  write_file(path("plain"), text);
  write_gzip(path("zipped"), text);
  for (const char* name : {"plain", "zipped"}) {
    const IdxArray array = read_idx(path(name), 3);
    EXPECT_THAT(array.sizes, ElementsAre(2, 1, 2));
    EXPECT_THAT(array.values, ElementsAre('a', 'b', 'c', 'd'));
  }
}

TEST_F(IdxTest, NamesATruncatedFileAndWhatItShouldHold) {
  write_file(path("short"), idx_text({2, 2, 3}, "abc"));
  const std::string error = error_of([&] { read_idx(path("short"), 3); });
  EXPECT_THAT(error, HasSubstr(path("short") + " is truncated"));
  EXPECT_THAT(error, HasSubstr("promises 12 bytes of data (2 x 2 x 3), it has 3"));
}

TEST_F(IdxTest, RefusesForeignAndTinyFiles) {
  write_file(path("labels"), idx_text({12}, "abcdefghijkl"));
  EXPECT_THAT(error_of([&] { read_idx(path("labels"), 3); }), HasSubstr("starts with 0x00000801; expected 0x00000803"));
  write_file(path("tiny"), "abc");
  EXPECT_THAT(error_of([&] { read_idx(path("tiny"), 1); }), HasSubstr("it has 3 bytes; the header alone takes 8"));
}

TEST_F(IdxTest, RefusesHugeSizesOfADamagedHeader) {
  write_file(path("huge"), idx_text({0xffffffff, 0xffffffff, 0xffffffff}, "abc"));
  EXPECT_THAT(error_of([&] { read_idx(path("huge"), 3); }), HasSubstr("is truncated"));
}

TEST_F(IdxTest, NamesATruncatedGzipFile) {
  write_gzip(path("whole.gz"), idx_text({1000}, std::string(1000, 'x') + ""));
  const std::string bytes = read_file(path("whole.gz"));
  write_file(path("cut.gz"), bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(error_of([&] { read_idx(path("cut.gz"), 1); }), HasSubstr(path("cut.gz")));
}

}  // namespace
}  // namespace nascent
