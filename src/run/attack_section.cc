#include "nascent/run/attack_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "nascent/core/files.h"
#include "nascent/run/bars.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/figure.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/html.h"
#include "nascent/run/picture_files.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

bool is_attack(const Json& result) {
  return result.is_object() && result.contains("curve") && result.contains("attack");
}

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

std::string eps_text(const Json& entry) {
  return entry.contains("eps") ? fmt::format("{:.4g}", number(entry, "eps")) : "any";
}

std::string distance_text(const Json& result) {
  const std::string norm = result.value("norm", "") == "l2" ? "L2" : "L∞";
  return fmt::format("ε ({}, {})", norm, result.value("units", "pixels"));
}

// From the clean accuracy at 0 on.
void begin_clean(Curve& curve, double clean) {
  if (curve.points.empty() || curve.points[0].first <= 0) return;
  curve.points.insert(curve.points.begin(), {0, clean});
  if (!curve.band.empty()) curve.band.insert(curve.band.begin(), {clean, clean});
}

double mean_clean(const Json& members) {
  double sum = 0;
  for (size_t i = 0; i + 1 < members.size(); ++i) sum += number(members[i], "clean_top1");  // the last is the ensemble
  return sum / static_cast<double>(members.size() - 1);
}

Curve defence_curve(const Json& result, const char* key, const char* name) {
  Curve curve{.name = name, .points = {}};
  for (const auto& entry : result["defence"]) {
    const double mean = number(entry[key], "mean"), deviation = number(entry[key], "deviation");
    curve.points.emplace_back(number(entry, "eps"), mean);
    curve.band.emplace_back(std::max(0.0, mean - deviation), std::min(100.0, mean + deviation));
  }
  return curve;
}

// Accuracies against eps, in the order of the bars.
std::vector<Curve> curves_of(const Json& result) {
  const double clean = number(result, "clean_top1");
  const bool rounds = result.contains("defence") && result["defence"][0].contains("eps");
  Curve robust{.name = rounds ? "ensemble, all members known" : "under attack", .points = {}};
  for (const auto& point : result["curve"])
    robust.points.emplace_back(number(point, "eps"), number(point, "robust_top1"));
  if (!result.contains("target")) begin_clean(robust, clean);
  if (!rounds) return {robust};
  Curve attacked = defence_curve(result, "attack", "attacked member");
  Curve defended = defence_curve(result, "defence", "ensemble, one member attacked");
  if (result.contains("members")) begin_clean(attacked, mean_clean(result["members"]));
  begin_clean(defended, clean);
  return {attacked, defended, robust};
}

Plot plot_of(const Json& result, int width, int height) {
  Plot plot{.curves = curves_of(result), .width = width, .height = height, .top = 100};
  plot.whole = false;
  return plot;
}

std::vector<BarGroup> bars_of(const Json& result) {
  std::vector<BarGroup> groups;
  for (const auto& entry : result["defence"]) {
    groups.push_back({"ε " + eps_text(entry),
                      {{number(entry["attack"], "mean"), number(entry["attack"], "deviation")},
                       {number(entry["defence"], "mean"), number(entry["defence"], "deviation")},
                       {number(entry, "all_known_top1"), 0}}});
  }
  return groups;
}

// The same without words; a bar of no height between groups, and eps below the middle of each.
BarPlot bar_plot(const Json& result) {
  BarPlot plot{.bars = {}, .from_zero = true};
  const std::vector<BarGroup> groups = bars_of(result);
  for (size_t g = 0; g < groups.size(); ++g) {
    const BarGroup& group = groups[g];
    if (!plot.bars.empty()) plot.bars.emplace_back();
    const double middle = static_cast<double>(plot.bars.size()) + 0.5 * (static_cast<double>(group.bars.size()) + 1);
    if (const Json& entry = result["defence"][g]; entry.contains("eps"))
      plot.tics.emplace_back(middle, number(entry, "eps"));
    for (size_t i = 0; i < group.bars.size(); ++i) {
      plot.bars.push_back({group.name, group.bars[i].value, group.bars[i].deviation, i});
    }
  }
  plot.width = std::max(plot.width, 80 * static_cast<int>(groups.size()));
  return plot;
}

const std::vector<std::string> kBarNames = {"attacked member", "ensemble, one member attacked",
                                            "ensemble, all members known"};

std::string bar_figure(const Json& result) {
  return fmt::format(
      "<figure><figcaption>Attack and defence <span class=\"by\">accuracy (%), mean and deviation over members"
      "</span></figcaption>\n{}\n{}</figure>\n",
      draw_bars(bars_of(result)), bar_legend(kBarNames));
}

std::string transfer_table(const Json& matrix) {
  std::vector<std::string> header = {"made on \\ judged by"};
  for (const auto& name : matrix["judged_by"]) header.push_back(name.get<std::string>());
  std::vector<html::Row> rows;
  for (size_t i = 0; i < matrix["top1"].size(); ++i) {
    html::Row row{{html::escape(matrix["made_on"][i].get<std::string>())}, ""};
    for (const auto& value : matrix["top1"][i]) row.cells.push_back(fmt::format("{:.2f} %", value.get<double>()));
    rows.push_back(row);
  }
  return fmt::format("<h3>Transfer, ε {}</h3>\n", eps_text(matrix)) + html::table(header, rows);
}

std::string curve_table(const Json& result) {
  std::vector<html::Row> rows;
  for (const auto& point : result["curve"]) {
    std::string parts;
    if (point.contains("parts")) {
      for (const auto& [name, fooled] : point["parts"].items())
        parts += fmt::format("{} {}  ", name, fooled.get<int64_t>());
    }
    rows.push_back(
        {{eps_text(point), fmt::format("{:.2f} %", number(point, "robust_top1")),
          fmt::format("{} of {}", point["robust"].get<int64_t>(), point["images"].get<int64_t>()), html::escape(parts)},
         ""});
  }
  const std::string share = result.contains("target") ? "target not reached" : "accuracy";
  return html::table({distance_text(result), share, "images that hold", "fooled by"}, rows);
}

std::string warning_notice(const Json& result) {
  std::string raised;
  const Json flags = result.value("warnings", Json::object());
  for (const auto& [flag, value] : flags.items()) {
    const bool up = value.is_boolean() ? value.get<bool>() : value.is_number() && value.get<double>() > 0;
    if (up) raised += (raised.empty() ? "" : ", ") + html::words(flag);
  }
  if (raised.empty()) return "";
  return fmt::format("<p class=\"notice\">Beware: {}. docs/attacks.md says what this means.</p>\n",
                     html::escape(raised));
}

std::string gallery(const fs::path& grid) {
  if (!fs::exists(grid)) return "";
  return fmt::format(
      "<h3>Adversarial images</h3>\n<p class=\"soft\">Clean, its change times 10 on grey, adversarial.</p>\n"
      "<p><img alt=\"clean, change and adversarial images\" style=\"max-width:100%\" src=\"{}\"/></p>\n",
      html::data_uri("image/png", read_file(grid)));
}

std::string robust_csv(const Json& result) {
  std::string csv = "eps,curve,accuracy,low,high\n";
  for (const Curve& curve : curves_of(result)) {
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const auto [eps, accuracy] = curve.points[i];
      const auto [low, high] = curve.band.empty() ? std::pair(accuracy, accuracy) : curve.band[i];
      csv += fmt::format("{},\"{}\",{},{},{}\n", eps, curve.name, accuracy, low, high);
    }
  }
  return csv;
}

std::string defence_csv(const Json& result) {
  std::string csv = "eps,member,attack,defence,all_known\n";
  for (const auto& entry : result["defence"]) {
    for (const auto& round : entry["rounds"]) {
      csv += fmt::format("{},\"{}\",{},{},{}\n", eps_text(entry), round["member"].get<std::string>(),
                         number(round, "attack_top1"), number(round, "defence_top1"), number(entry, "all_known_top1"));
    }
  }
  return csv;
}

}  // namespace

std::string attack_section(const RunDirectory& run) {
  const Json result = run.result();
  if (!is_attack(result)) return "";
  std::string markup = warning_notice(result);
  const std::string title =
      result.contains("target") ? "Images that do not reach the target (%)" : "Accuracy under attack (%)";
  markup += figures({{title, distance_text(result), plot_of(result, 480, 260)}}, curve_table(result));
  if (result.contains("defence")) markup += "<div class=\"panels\">\n" + bar_figure(result) + "</div>\n";
  markup += html::details("Numbers", curve_table(result));
  if (result.contains("transfer")) {
    for (const auto& matrix : result["transfer"]) markup += transfer_table(matrix);
  }
  return html::section("Attack", markup + gallery(run.path() / "adversarial" / "grid.png"));
}

void write_attack_figures(const Json& result, const fs::path& folder) {
  fs::create_directories(folder);
  write_file(folder / "robust-accuracy.csv", robust_csv(result));
  const FigurePanel panel{"Accuracy under " + result.value("attack", ""), distance_text(result), "accuracy (%)",
                          plot_of(result, 480, 280)};
  write_picture(folder / "robust-accuracy", std::vector{panel});
  if (!result.contains("defence")) return;
  write_file(folder / "attack-defence.csv", defence_csv(result));
  write_file(folder / "attack-defence.svg",
             standalone_bars("Attack and defence, accuracy (%)", bars_of(result), kBarNames));
  const auto png = draw_png(script_of(bar_plot(result)));
  if (png) write_file(folder / "attack-defence.png", *png);
}

}  // namespace nascent
