#include "nascent/run/picture_section.h"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"
#include "nascent/run/svg.h"

namespace nascent {
namespace {

constexpr const char* kList = "pictures.json";

// Draws every <canvas data-grid="side;v,v,..."> as a surface in perspective; all turn together. The picture beside it
// is hidden only once this runs.
constexpr const char* kViewer = R"(<script>
(function () {
  var views = [], turn = 0.6, tilt = 0.9;
  var stops = [[45,17,96],[75,47,143],[47,111,159],[61,160,127],[165,200,74],[253,240,160]];
  function colour(t) {
    var p = Math.max(0, Math.min(0.9999, t)) * (stops.length - 1), i = Math.floor(p), f = p - i;
    return 'rgb(' + stops[i].map(function (v, k) { return Math.round(v + f * (stops[i + 1][k] - v)); }).join(',') + ')';
  }
  function draw(v) {
    var c = v.canvas.getContext('2d'), n = v.side, w = v.canvas.width, h = v.canvas.height, faces = [], i, j;
    c.clearRect(0, 0, w, h);
    function place(i, j) {
      var x = 2 * i / (n - 1) - 1, y = 2 * j / (n - 1) - 1, z = v.height[j * n + i] * 1.2 - 0.6;
      var a = x * Math.cos(turn) - y * Math.sin(turn), b = x * Math.sin(turn) + y * Math.cos(turn);
      return [w / 2 + a * w * 0.32, h / 2 + (b * Math.cos(tilt) * 0.32 - z * Math.sin(tilt) * 0.42) * h, b];
    }
    for (j = 0; j + 1 < n; j++) for (i = 0; i + 1 < n; i++) {
      var level = (v.height[j * n + i] + v.height[j * n + i + 1] + v.height[(j + 1) * n + i] + v.height[(j + 1) * n + i + 1]) / 4;
      if (isNaN(level)) continue;
      var q = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)];
      faces.push([q[0][2] + q[1][2] + q[2][2] + q[3][2], q, level]);
    }
    faces.sort(function (a, b) { return a[0] - b[0]; });
    faces.forEach(function (f) {
      c.beginPath(); f[1].forEach(function (p, k) { k ? c.lineTo(p[0], p[1]) : c.moveTo(p[0], p[1]); }); c.closePath();
      c.fillStyle = c.strokeStyle = colour(f[2]); c.fill(); c.stroke();
    });
  }
  function drawAll() { views.forEach(draw); }
  document.querySelectorAll('canvas[data-grid]').forEach(function (canvas) {
    var parts = canvas.dataset.grid.split(';'), values = parts[1].split(',').map(Number);
    var known = values.filter(isFinite).sort(function (a, b) { return a - b; });
    if (!canvas.getContext || !known.length) return;
    var low = known[0], high = known[Math.floor(0.98 * (known.length - 1))] || 1;
    views.push({canvas: canvas, side: Number(parts[0]), height: values.map(function (v) {
      return isFinite(v) ? Math.min(1, (v - low) / (high - low || 1)) : NaN; })});
    canvas.style.display = 'block'; canvas.style.cursor = 'grab';
    var down = null;
    canvas.addEventListener('pointerdown', function (e) { down = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener('pointerup', function () { down = null; });
    canvas.addEventListener('pointermove', function (e) {
      if (!down) return;
      turn += (e.clientX - down[0]) * 0.01; tilt = Math.max(0.1, Math.min(1.5, tilt + (e.clientY - down[1]) * 0.01));
      down = [e.clientX, e.clientY]; drawAll();
    });
  });
  drawAll();
})();
</script>
)";

// The third column of a grid's CSV, as the viewer reads it.
std::string grid_text(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line, values;
  size_t count = 0;
  for (std::getline(lines, line); std::getline(lines, line);) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() < 3) continue;
    values += (count++ > 0 ? "," : "") + (fields[2].find("n") != std::string::npos ? std::string("NaN") : fields[2]);
  }
  return fmt::format("{:.0f};{}", std::sqrt(static_cast<double>(count)), values);
}

std::string figure(const std::filesystem::path& folder, const Json& picture) {
  const std::string caption = picture.value("caption", ""), surface = picture.value("surface", "");
  std::string markup;
  for (const std::string& svg : inline_svgs(read_file(folder / picture.value("file", "")))) markup += svg + "\n";
  if (!surface.empty() && std::filesystem::exists(folder / surface)) {
    markup += fmt::format(
        "<canvas width=\"640\" height=\"480\" style=\"display:none;width:100%;max-width:420px\" "
        "data-grid=\"{}\"></canvas>\n",
        html::escape(grid_text(read_file(folder / surface))));
  }
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", markup, html::escape(caption));
}

}  // namespace

void write_pictures(const std::filesystem::path& folder, const std::vector<ReportPicture>& pictures) {
  Json list = Json::array();
  for (const ReportPicture& picture : pictures) {
    list.push_back(
        {{"group", picture.group}, {"file", picture.file}, {"caption", picture.caption}, {"surface", picture.surface}});
  }
  write_file(folder / kList, list.dump(2) + "\n");
}

std::string picture_section(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / kList)) return "";
  std::string markup, group, figures;
  bool surfaces = false;
  const auto close = [&] {
    if (!figures.empty())
      markup += fmt::format("<h3>{}</h3>\n<div class=\"figures\">\n{}</div>\n", html::escape(group), figures);
    figures.clear();
  };
  for (const Json& picture : Json::parse(read_file(folder / kList))) {
    if (!std::filesystem::exists(folder / picture.value("file", ""))) continue;
    if (picture.value("group", "") != group) close();
    group = picture.value("group", "");
    figures += figure(folder, picture);
    surfaces = surfaces || !picture.value("surface", "").empty();
  }
  close();
  return html::section("Pictures", markup + (surfaces ? kViewer : ""));
}

}  // namespace nascent
