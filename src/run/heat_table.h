// A table of coloured squares with the numbers in them: who disagrees with whom, what is taken for what.
#pragma once

#include <string>
#include <vector>

#include "nascent/run/figure.h"
#include "nascent/run/gnuplot.h"

namespace nascent {

struct HeatTable {
  std::vector<std::string> rows{}, columns{};
  std::vector<std::vector<double>> values{};
  double top = 1;  // shown in full colour
  const char* format = "{:.2f}";
};

DrawnPanel heat_panel(const HeatTable& heat, const std::string& title, const std::string& y);
// `corner` heads the column of row names.
std::string heat_csv(const HeatTable& heat, const std::string& corner);
// The squares alone, the first row on top.
GnuplotScript heat_script(const HeatTable& heat);

}  // namespace nascent
