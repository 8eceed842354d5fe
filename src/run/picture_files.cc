#include "nascent/run/picture_files.h"

#include <fmt/format.h>

#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/plot_picture.h"

namespace nascent {

bool write_picture(const std::filesystem::path& file, const std::vector<PicturePanel>& panels,
                   const std::vector<std::string>& legend) {
  const std::string stem = file.string();  // may have dots of its own
  const auto picture = draw_picture(panels, legend);
  if (!picture) {
    log::warning("{}.svg is missing, because gnuplot could not be run.", stem);
    return false;
  }
  write_file(stem + ".svg", *picture);
  for (size_t i = 0; i < panels.size(); ++i) {
    const auto png = draw_png(panels[i].alone.text.empty() ? panels[i].script : panels[i].alone);
    if (png) write_file(i == 0 ? stem + ".png" : fmt::format("{}-{}.png", stem, i + 1), *png);
  }
  return true;
}

bool write_picture(const std::filesystem::path& file, const std::vector<FigurePanel>& panels) {
  std::vector<PicturePanel> drawn;
  std::vector<std::string> names;
  for (const FigurePanel& panel : panels) drawn.push_back({panel.title, panel.x, panel.y, script_of(panel.plot)});
  for (const Curve& curve : panels.front().plot.curves) names.push_back(curve.name);
  return write_picture(file, drawn, names);
}

}  // namespace nascent
