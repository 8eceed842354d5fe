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

// Draws every <canvas data-grid="columns;v,v,..."> as a surface in perspective; all turn together. The picture before
// it is hidden only once this runs.
constexpr const char* kViewer = R"(<script>
(function () {
  var views = [], turn = 0.6, tilt = 0.95, zoom = 1;
  var stops = [[45,17,96],[75,47,143],[47,111,159],[61,160,127],[165,200,74],[253,240,160]];
  function colour(t, light) {
    var p = Math.max(0, Math.min(0.9999, t)) * (stops.length - 1), i = Math.floor(p), f = p - i;
    return 'rgb(' + stops[i].map(function (v, k) {
      return Math.round(Math.min(255, (v + f * (stops[i + 1][k] - v)) * light)); }).join(',') + ')';
  }
  function draw(v) {
    var c = v.canvas.getContext('2d'), n = v.columns, m = v.rows, w = v.canvas.width, h = v.canvas.height, faces = [], i, j;
    var ink = getComputedStyle(document.documentElement).getPropertyValue('--axis') || '#888';
    var ct = Math.cos(turn), st = Math.sin(turn), ci = Math.cos(tilt), si = Math.sin(tilt);
    c.clearRect(0, 0, w, h);
    function project(x, y, z) {
      var a = x * ct - y * st, b = x * st + y * ct, d = 5 / (5 - (b * si + z * ci) * 0.9), s = 0.27 * w * zoom * d;
      return [w / 2 + a * s, h * 0.45 + (b * ci - z * si) * s, b * si + z * ci];
    }
    function place(i, j) { return project(2 * i / (n - 1) - 1, 1 - 2 * j / (m - 1), v.height[j * n + i] * 1.5 - 0.75); }
    c.strokeStyle = ink; c.lineWidth = 1; c.beginPath();
    [[-1,-1],[1,-1],[1,1],[-1,1],[-1,-1]].forEach(function (p, k) {
      var q = project(p[0], p[1], -0.75); if (k) c.lineTo(q[0], q[1]); else c.moveTo(q[0], q[1]); });
    c.stroke();
    for (j = 0; j + 1 < m; j++) for (i = 0; i + 1 < n; i++) {
      var q0 = v.height[j * n + i], q1 = v.height[j * n + i + 1], q2 = v.height[(j + 1) * n + i + 1], q3 = v.height[(j + 1) * n + i];
      var level = (q0 + q1 + q2 + q3) / 4;
      if (isNaN(level)) continue;
      var slope = (q1 + q2 - q0 - q3) * n * 0.25, light = 0.86 + 0.28 / (1 + Math.exp(slope * ct));
      var q = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)];
      faces.push([q[0][2] + q[1][2] + q[2][2] + q[3][2], q, level, light]);
    }
    faces.sort(function (a, b) { return a[0] - b[0]; });
    c.lineWidth = 0.7;
    faces.forEach(function (f) {
      c.beginPath(); f[1].forEach(function (p, k) { if (k) c.lineTo(p[0], p[1]); else c.moveTo(p[0], p[1]); }); c.closePath();
      c.fillStyle = colour(f[2], f[3]); c.strokeStyle = colour(f[2], f[3] * 0.8); c.fill(); c.stroke();
    });
  }
  function drawAll() { views.forEach(draw); }
  document.querySelectorAll('canvas[data-grid]').forEach(function (canvas) {
    var parts = canvas.dataset.grid.split(';'), values = parts[1].split(',').map(Number), columns = Number(parts[0]);
    var known = values.filter(isFinite).sort(function (a, b) { return a - b; });
    if (!canvas.getContext || !known.length) return;
    var low = known[0], high = known[Math.floor(0.98 * (known.length - 1))];
    if (!(high > low)) high = low + 1;
    views.push({canvas: canvas, columns: columns, rows: values.length / columns, height: values.map(function (v) {
      return isNaN(v) ? NaN : Math.min(1, (v - low) / (high - low)); })});
    canvas.style.display = 'block'; canvas.style.cursor = 'grab';
    if (canvas.previousElementSibling) canvas.previousElementSibling.style.display = 'none';
    var down = null;
    canvas.addEventListener('pointerdown', function (e) { down = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
    ['pointerup', 'pointercancel'].forEach(function (name) { canvas.addEventListener(name, function () { down = null; }); });
    canvas.addEventListener('pointermove', function (e) {
      if (!down) return;
      turn += (e.clientX - down[0]) * 0.01; tilt = Math.max(0.05, Math.min(1.5, tilt - (e.clientY - down[1]) * 0.01));
      down = [e.clientX, e.clientY]; drawAll();
    });
    canvas.addEventListener('wheel', function (e) {
      e.preventDefault(); zoom = Math.max(0.5, Math.min(3, zoom * Math.exp(-e.deltaY * 0.001))); drawAll();
    }, {passive: false});
  });
  drawAll();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
})();
</script>
)";

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
  return fmt::format("<figure style=\"max-width:820px;margin-bottom:16px\">{}{}</figure>\n",
                     drawing(folder / picture.value("file", "")), caption_markup(picture.value("caption", "")));
}

bool has_surface(const std::filesystem::path& folder, const Json& picture) {
  const std::string surface = picture.value("surface", "");
  return !surface.empty() && std::filesystem::exists(folder / surface);
}

std::string surface_figure(const std::filesystem::path& folder, const Json& picture) {
  const std::string values = grid_text(read_file(folder / picture.value("surface", "")), picture.value("log", false));
  return fmt::format(
      "<figure>{}<canvas width=\"720\" height=\"560\" style=\"display:none;width:100%;touch-action:none\" "
      "data-grid=\"{}\"></canvas>\n{}</figure>\n",
      drawing(folder / picture.value("file", "")), html::escape(values), caption_markup(picture.value("caption", "")));
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
  if (!surfaces.empty()) {
    markup += "<p class=\"soft\">Surfaces turn together with the mouse; the wheel brings them nearer.</p>\n";
    markup += fmt::format("<div class=\"panels\">\n{}</div>\n{}", surfaces, kViewer);
  }
  for (const auto& [group, figures] : groups) markup += fmt::format("<h3>{}</h3>\n{}", html::escape(group), figures);
  return html::section("Pictures", markup);
}

}  // namespace nascent
