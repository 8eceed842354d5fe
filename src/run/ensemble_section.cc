#include "nascent/run/ensemble_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/run/cell_section.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/html.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

struct Heat {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<double>> values;
  double top = 1;  // shown in full colour
  const char* format = "{:.2f}";
};

// A table of coloured squares in the page's own colours, with the numbers in them.
std::string heat_map(const Heat& heat) {
  constexpr int kLeft = 110, kTop = 92, kWidth = 58, kHeight = 24;
  const int width = kLeft + kWidth * static_cast<int>(heat.columns.size()) + 8;
  const int height = kTop + kHeight * static_cast<int>(heat.rows.size()) + 8;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" font-size=\"11\" fill=\"var(--ink)\">",
      width, height);
  for (size_t c = 0; c < heat.columns.size(); ++c) {
    const int x = kLeft + kWidth * static_cast<int>(c) + kWidth / 2;
    svg += fmt::format("<text x=\"{0}\" y=\"{1}\" transform=\"rotate(-40 {0} {1})\">{2}</text>", x, kTop - 6,
                       html::escape(heat.columns[c]));
  }
  for (size_t r = 0; r < heat.rows.size(); ++r) {
    const int y = kTop + kHeight * static_cast<int>(r);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLeft - 8, y + 16,
                       html::escape(heat.rows[r]));
    for (size_t c = 0; c < heat.values[r].size(); ++c) {
      const double value = heat.values[r][c];
      const double share = heat.top > 0 ? std::clamp(value / heat.top, 0.0, 1.0) : 0;
      const int x = kLeft + kWidth * static_cast<int>(c);
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"var(--c0)\" fill-opacity=\"{:.3f}\" "
          "stroke=\"var(--rule)\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
          x, y, kWidth - 2, kHeight - 2, 0.75 * share, x + kWidth / 2 - 1, y + 15,
          fmt::format(fmt::runtime(heat.format), value));
    }
  }
  return svg + "</svg>";
}

std::string figure(const std::string& svg, const std::string& caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", svg, html::escape(caption));
}

std::vector<std::string> site_names(const std::string& space, const std::string& type, size_t count) {
  std::vector<std::string> names;
  try {
    for (const auto& cell : find_space(space)->cells()) {
      if (cell.type != type) continue;
      for (const auto& edge : Space::edges(cell)) {
        if (edge.to >= 0 && !cell.ops_on_nodes) names.push_back(fmt::format("{}→{}", edge.from, edge.to));
      }
    }
  } catch (const Error&) {  // a space of the user's own: numbers will do
  }
  if (names.size() != count) names.clear();
  for (size_t i = names.size(); i < count; ++i) names.push_back(std::to_string(i + 1));
  return names;
}

std::string posterior_maps(const Json& posterior, const std::string& space) {
  std::string markup;
  for (const auto& [type, cell] : posterior.at("cells").items()) {
    Heat heat;
    heat.columns = posterior.at("ops").get<std::vector<std::string>>();
    heat.values = cell.at("probabilities").get<std::vector<std::vector<double>>>();
    heat.rows = site_names(space, type, heat.values.size());
    const auto edges = cell.at("edges").get<std::vector<double>>();
    if (edges.size() >= heat.rows.size()) {
      heat.columns.emplace_back("this input");
      for (size_t i = 0; i < heat.rows.size(); ++i) heat.values[i].push_back(edges[i]);
    }
    markup += figure(heat_map(heat), fmt::format("{} cell: probability of each operation, and of the input among those "
                                                 "of its node; entropy {:.2f} nats",
                                                 type, cell.at("entropy").get<double>()));
  }
  return fmt::format("<p>Divergence from the uniform distribution {:.2f} nats, softmax temperature {:g}.</p>{}",
                     posterior.at("divergence").get<double>(), posterior.at("tau").get<double>(), markup);
}

std::string member_cells(const Json& cells, const Json* figures) {
  std::string markup;
  std::string last;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string title = fmt::format("Member {}", i + 1);
    if (figures != nullptr && i < figures->at("member_errors").size())
      title += fmt::format(": error {:.2f} %", figures->at("member_errors")[i].get<double>());
    const std::string text = cells[i].dump();
    const std::string body = text == last ? "<p>The same cell.</p>" : cell_section(parse_genotype(text, "json"));
    markup += html::details(title, body, i == 0);
    last = text;
  }
  return markup;
}

std::string figures_table(const Json& figures) {
  struct Line {
    const char *key, *name, *unit;
  };
  constexpr std::array<Line, 12> lines = {{{"error", "ensemble error", " %"},
                                           {"average_error", "average error of a member (ATE)", " %"},
                                           {"disagreement", "pairwise predictive disagreement (PPD)", " %"},
                                           {"diversity", "PPD over ATE", ""},
                                           {"oracle_error", "no member right", " %"},
                                           {"top5_error", "top-5 error", " %"},
                                           {"loss", "negative log-likelihood", " nats"},
                                           {"average_loss", "mean of the members' own", " nats"},
                                           {"brier", "Brier score", ""},
                                           {"calibration_error", "expected calibration error", ""},
                                           {"entropy", "predictive entropy", " nats"},
                                           {"mutual_information", "mutual information", " nats"}}};
  std::vector<html::Row> rows;
  for (const Line& line : lines)
    rows.push_back({{line.name, html::number_text(figures.at(line.key).get<double>()) + line.unit}, ""});
  return html::table({"figure", "value"}, rows);
}

// Accuracy by confidence: bars that reach the diagonal are honest.
std::string reliability_diagram(const Json& bins) {
  constexpr int kSide = 220, kLeft = 40, kTop = 10;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" font-size=\"11\" fill=\"var(--ink)\">",
      kSide + kLeft + 10, kSide + kTop + 40);
  const double width = static_cast<double>(kSide) / static_cast<double>(bins.size());
  int64_t all = 0;
  for (const Json& bin : bins) all += bin.at("images").get<int64_t>();
  for (size_t i = 0; i < bins.size(); ++i) {
    const auto images = bins[i].at("images").get<int64_t>();
    if (images == 0) continue;
    const double tall = kSide * bins[i].at("accuracy").get<double>();
    const double weight = 0.3 + 0.7 * static_cast<double>(images) / static_cast<double>(std::max<int64_t>(all, 1));
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--c0)\" "
        "fill-opacity=\"{:.2f}\"><title>{} images</title></rect>",
        kLeft + width * static_cast<double>(i), kTop + kSide - tall, width - 1, tall, weight, images);
  }
  svg += fmt::format(
      "<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"var(--soft)\"/><path d=\"M{0} {2}L{3} {1}\" "
      "stroke=\"var(--c1)\" stroke-dasharray=\"4 3\"/>",
      kLeft, kTop, kTop + kSide, kLeft + kSide);
  for (const double tick : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>", kLeft + tick * kSide,
                       kTop + kSide + 16, tick);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:g}</text>", kLeft - 6,
                       kTop + kSide - tick * kSide + 4, tick);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">confidence</text></svg>", kLeft + kSide / 2,
                     kTop + kSide + 34);
  return figure(svg,
                "Reliability: accuracy (up) by confidence; stronger bars hold more images, the dashed line is honest");
}

std::string disagreement_map(const Json& figures) {
  Heat heat;
  heat.values = figures.at("disagreements").get<std::vector<std::vector<double>>>();
  if (heat.values.size() < 2) return "";
  heat.top = 0;
  heat.format = "{:.1f}";
  for (size_t i = 0; i < heat.values.size(); ++i) {
    heat.rows.push_back(fmt::format("member {}", i + 1));
    heat.columns.push_back(fmt::format("member {}", i + 1));
    heat.top = std::max(heat.top, *std::max_element(heat.values[i].begin(), heat.values[i].end()));
  }
  return figure(heat_map(heat), "Disagreement: percent of the images that two members call differently");
}

std::string figures_part(const std::string& heading, const Json& figures) {
  return html::section(heading, figures_table(figures) + "<div class=\"panels\">" +
                                    reliability_diagram(figures.at("reliability")) + disagreement_map(figures) +
                                    "</div>");
}

std::string trace_part(const Json& trace) {
  if (trace.size() < 2) return "";
  Panel losses{"estimated loss of each round's ensemble", "round", {}};
  Curve loss{"loss", {}}, best{"best so far", {}};
  std::vector<html::Row> rows;
  for (const Json& line : trace) {
    const double round = line.at("round").get<double>();
    loss.points.emplace_back(round, line.at("loss").get<double>());
    best.points.emplace_back(round, line.at("best").get<double>());
    rows.push_back({{html::value_text(line.at("round")), html::number_text(line.at("loss").get<double>()),
                     html::number_text(line.at("best").get<double>()),
                     line.contains("delta") ? html::number_text(line.at("delta").get<double>()) : "",
                     html::value_text(line.at("networks")), html::value_text(line.at("ensembles"))},
                    ""});
  }
  losses.plot.curves = {loss, best};
  const std::string table =
      html::table({"round", "loss", "best so far", "δ", "networks evaluated", "ensembles judged"}, rows);
  return html::section("Rounds", figures({losses}, "") + html::details("Every round", table));
}

std::string fairness_part(const Json& fairness) {
  return html::section(
      "Fairness",
      fmt::format("<p>{} steps of single paths; χ² = {:.1f} with {:g} degrees of freedom, p = {:.3g}: a small "
                  "p would say that operations were not trained equally often.</p>",
                  fairness.at("steps").get<int64_t>(), fairness.at("chi_squared").get<double>(),
                  fairness.at("freedom").get<double>(), fairness.at("p_value").get<double>()));
}

}  // namespace

std::string ensemble_section(const Json& result, const std::string& space) {
  if (!result.is_object() || !result.contains("cells") || !result.contains("kind")) return "";
  const Json* figures = nullptr;
  for (const char* key : {"test", "valid", "estimated"}) {
    if (figures == nullptr && result.contains(key)) figures = &result.at(key);
  }
  std::string markup = html::section("Members", member_cells(result.at("cells"), figures));
  if (result.contains("test")) markup += figures_part("Figures on test images", result.at("test"));
  if (result.contains("valid")) markup += figures_part("Figures on held-out images", result.at("valid"));
  if (result.contains("estimated"))
    markup += figures_part("Figures as estimated on held-out images", result.at("estimated"));
  if (result.contains("trace")) markup += trace_part(result.at("trace"));
  if (result.contains("posterior")) markup += html::section("Posterior", posterior_maps(result.at("posterior"), space));
  if (result.contains("fairness") && result.at("fairness").is_object()) markup += fairness_part(result.at("fairness"));
  return markup;
}

}  // namespace nascent
