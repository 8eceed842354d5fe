// Bars in groups, with whiskers, in the page's own colours: no other program is needed.
#pragma once

#include <string>
#include <vector>

namespace nascent {

struct Bar {
  double value = 0, deviation = 0;  // of 100
};

struct BarGroup {
  std::string name;
  std::vector<Bar> bars;  // bar i has the page's colour i, in every group
};

// One <svg>; the vertical axis runs from 0 to 100.
std::string draw_bars(const std::vector<BarGroup>& groups);
std::string bar_legend(const std::vector<std::string>& names);
// The same with title and legend as a file of its own, light colours on white.
std::string standalone_bars(const std::string& title, const std::vector<BarGroup>& groups,
                            const std::vector<std::string>& names);

}  // namespace nascent
