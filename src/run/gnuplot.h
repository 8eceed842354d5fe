// gnuplot as the pictures use it: scripts of numbers in, drawings out, in the colours of the page.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nascent {

enum class Drawing {
  page,  // an <svg> in the page's variables, light and dark alike
  png,   // a PNG file's bytes, light colours on white
};

// What colours a script may use; each stands for the page's own until the drawing is done.
std::string axis_colour();  // "rgb '#010101'"
std::string grid_colour();
std::string curve_colour(size_t index);  // curves beyond the page's colours begin again at the first

// Each script draws once, without setting a terminal. One result per script; nothing where gnuplot is missing or fails.
struct GnuplotScript {
  std::string text;
  int width = 340, height = 190, font = 11;
};
std::optional<std::vector<std::string>> run_gnuplot(const std::vector<GnuplotScript>& scripts, Drawing drawing);

// A perceptually even palette from dark (low) to light (high), the same everywhere.
std::string palette_script();

}  // namespace nascent
