#include "nascent/table/csv.h"

#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, QuotedFieldsHoldCommasQuotesAndLines) {
  const auto rows = parse_csv("a,b\r\n\"x, \"\"y\"\"\",\"1\n2\"\n\n,last", "f");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].fields, ElementsAre("a", "b"));
  EXPECT_THAT(rows[1].fields, ElementsAre("x, \"y\"", "1\n2"));
  EXPECT_THAT(rows[2].fields, ElementsAre("", "last"));
  EXPECT_EQ(rows[1].line, 2);
  EXPECT_EQ(rows[2].line, 5) << "line breaks in fields and empty lines count";
}

TEST(Csv, DamageIsNamedWithItsLine) {
  EXPECT_THAT(error_of([] { parse_csv("", "f"); }), HasSubstr("f is empty"));
  EXPECT_THAT(error_of([] { parse_csv("a,b\n1,2\n3", "f"); }), HasSubstr("f, line 3: there are 1 fields"));
  EXPECT_THAT(error_of([] { parse_csv("a,b\n1,\"2", "f"); }), HasSubstr("f, line 2: a quoted field is never closed"));
  EXPECT_THAT(error_of([] { parse_csv("a,b\n\"1\"x,2", "f"); }), HasSubstr("f, line 2: after the closing quote"));
  EXPECT_THAT(error_of([] { parse_csv("a\n\"\"\"", "f"); }), HasSubstr("never closed"));
}

}  // namespace
}  // namespace nascent
