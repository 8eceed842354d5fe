// The report of a run: one HTML page that needs nothing but itself, for a screen of any size, light or dark, or paper.
//
// It is made from the run directory's files alone, so it can be made again at any time, of a run that is still going,
// interrupted or failed too. Cells are drawn by graphviz and curves by gnuplot; where one is missing, the page says so
// and shows text and tables instead.
#pragma once

#include <string>

#include "nascent/run/run_directory.h"

namespace nascent {

// Writes report.html into the run directory.
void write_report(const RunDirectory& run);

// The same page as text.
std::string report_page(const RunDirectory& run);

}  // namespace nascent
