#include "nascent/run/picture_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/figure.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

constexpr const char* kList = "pictures.json";

// The third column of a grid's CSV, as the viewer reads it: how many there are in a row, then all.
std::string grid_text(const std::string& csv, bool log) {
  std::istringstream lines(csv);
  std::string line, first_row;
  std::vector<std::string> values;
  size_t columns = 0;
  for (std::getline(lines, line); std::getline(lines, line);) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() < 3) continue;
    if (values.empty()) first_row = fields[1];
    if (fields[1] == first_row) ++columns;
    const double value = std::strtod(fields[2].c_str(), nullptr), shown = log ? std::log10(value) : value;
    values.push_back(std::isfinite(shown) ? fmt::format("{:.4g}", shown) : "NaN");
  }
  return fmt::format("{};{}", columns, join(values, ","));
}

std::string caption_markup(const std::string& caption) {
  return fmt::format("<figcaption><span class=\"by\">{}</span></figcaption>\n", html::escape(caption));
}

// The whole drawing, in the page's colours. It may hold others, so it is taken as it is.
std::string drawing(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const size_t start = text.find("<svg");
  return start == std::string::npos ? "" : in_page_colours(text.substr(start));
}

std::string figure(const std::filesystem::path& folder, const Json& picture) {
  return fmt::format("<figure class=\"picture\">{}{}</figure>\n", drawing(folder / picture.value("file", "")),
                     caption_markup(picture.value("caption", "")));
}

bool has_surface(const std::filesystem::path& folder, const Json& picture) {
  const std::string surface = picture.value("surface", "");
  return !surface.empty() && std::filesystem::exists(folder / surface);
}

std::string surface_figure(const std::filesystem::path& folder, const Json& picture) {
  const std::string values = grid_text(read_file(folder / picture.value("surface", "")), picture.value("log", false));
  return fmt::format("<figure>{}<canvas width=\"720\" height=\"560\" data-grid=\"{}\"></canvas>\n{}</figure>\n",
                     drawing(folder / picture.value("file", "")), html::escape(values),
                     caption_markup(picture.value("caption", "")));
}

}  // namespace

void write_pictures(const std::filesystem::path& folder, const std::vector<ReportPicture>& pictures) {
  Json list = Json::array();
  for (const ReportPicture& picture : pictures) {
    list.push_back({{"group", picture.group},
                    {"file", picture.file},
                    {"caption", picture.caption},
                    {"surface", picture.surface},
                    {"log", picture.log}});
  }
  write_file(folder / kList, list.dump(2) + "\n");
}

std::string picture_section(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kList)) return "";
  std::string surfaces;
  std::vector<std::pair<std::string, std::string>> groups;  // in the order in which they come up
  for (const Json& picture : Json::parse(read_file(folder / kList))) {
    if (!std::filesystem::exists(folder / picture.value("file", ""))) continue;
    if (has_surface(folder, picture)) {
      surfaces += surface_figure(folder, picture);
      continue;
    }
    const std::string group = picture.value("group", "");
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == group; });
    (known == groups.end() ? groups.emplace_back(group, "") : *known).second += figure(folder, picture);
  }
  std::string markup;
  if (!surfaces.empty()) markup += fmt::format("<div class=\"panels\">\n{}</div>\n", surfaces);
  for (const auto& [group, figures] : groups) markup += fmt::format("<h3>{}</h3>\n{}", html::escape(group), figures);
  return html::section("Pictures", markup);
}

}  // namespace nascent
