#include "nascent/run/cell_gallery.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/core/log.h"
#include "nascent/run/subprocess.h"
#include "nascent/space/drawing.h"

namespace nascent {

std::optional<std::string> draw_cells(const std::vector<TitledCell>& cells, const std::string& format, int columns) {
  std::string text;
  for (size_t i = 0; i < cells.size(); ++i) text += wiring_to_dot(cells[i].cell, cells[i].title, static_cast<int>(i));
  // Each cell is laid out by itself, then all are packed into rows, then drawn where they stand.
  const int wide = std::max(1, std::min(columns, static_cast<int>(cells.size())));
  const std::vector<std::vector<std::string>> programs = {
      {"dot"}, {"gvpack", "-g", fmt::format("-array_u{}", wide), "-m", "14"}, {"neato", "-n2", "-s", "-T" + format}};
  for (const auto& program : programs) {
    const auto output = run_program(program, text);
    if (!output) return std::nullopt;
    if (output->exit_code != 0) {
      log::warning("{} failed (exit code {}): {}", program[0], output->exit_code, output->err);
      return std::nullopt;
    }
    text = output->out;
  }
  return text;
}

}  // namespace nascent
