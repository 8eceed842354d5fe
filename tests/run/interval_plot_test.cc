#include "nascent/run/interval_plot.h"

#include <gmock/gmock.h>

#include <cmath>

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::Not;

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(IntervalPlot, NamesEveryRowAndDrawsWhatIsKnown) {
  IntervalPlot plot{.title = "T", .axis = "accuracy <%>"};
  plot.rows = {{"a & b", 90, 88, 92, {88, 92, 1}, true}, {"single", 95, NAN, NAN, {}, false}};
  const std::string svg = draw_intervals(plot);
  EXPECT_THAT(svg, HasSubstr(">a &amp; b</text>"));
  EXPECT_THAT(svg, HasSubstr(">accuracy &lt;%&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">single</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("var(--")));
  EXPECT_EQ(count(svg, "<circle"), 4);  // two rows and two points: 1 is far out
}

TEST(IntervalPlot, OfEqualNumbersOrNoneIsADrawingToo) {
  EXPECT_THAT(draw_intervals({.rows = {{"a", 5, 5, 5, {}, false}}}), HasSubstr("</svg>"));
  EXPECT_THAT(draw_intervals({}), HasSubstr("</svg>"));
}

// The mean of three times 93.1 is another number than that of four times: tics between them had no distance, and the
// loop that draws them no end.
TEST(IntervalPlot, OfNumbersThatDifferInTheirLastBits) {
  const double three = (93.1 + 93.1 + 93.1) / 3, four = (93.1 + 93.1 + 93.1 + 93.1) / 4;
  ASSERT_NE(three, four);
  const std::string svg =
      draw_intervals({.rows = {{"a", three, three, three, {}, false}, {"b", four, four, four, {}, false}}});
  EXPECT_LE(count(svg, "text-anchor=\"middle\""), 12);
  EXPECT_THAT(svg, HasSubstr(">93.1</text>"));
  for (const double tiny : {5e-324, 1e-310}) {
    EXPECT_THAT(draw_intervals({.rows = {{"a", 0, 0, tiny, {}, false}}}), HasSubstr("</svg>"));
  }
}

}  // namespace
}  // namespace nascent
