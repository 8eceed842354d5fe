// Rows with an interval each, one below the other, their names beside them: no other program is needed.
#pragma once

#include <string>
#include <vector>

namespace nascent {

struct IntervalPlot {
  struct Row {
    std::string name{};
    double value = 0, low = 0, high = 0;  // without an interval where low or high is not finite
    std::vector<double> points{};         // drawn small, what the value stands for
    bool marked = false;                  // what the others are compared with: a line through all rows
  };
  std::vector<Row> rows{};
  std::string title{}, axis{};  // what runs along the horizontal axis
};

// As an SVG file of its own, light colours on white. Values far out lose their points, not their rows: the axis holds
// all values and intervals.
std::string draw_intervals(const IntervalPlot& plot);

}  // namespace nascent
