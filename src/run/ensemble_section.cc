#include "nascent/run/ensemble_section.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "nascent/run/cell_section.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/ensemble_figures.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

// The cells of all members side by side, each with its error where that is known.
std::string member_cells(const Json& cells, const Json* figures) {
  std::string
      markup = "<div class=\"panels\" style=\"grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr))\">\n",
      forms, last;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string by;
    if (figures != nullptr && i < figures->at("member_errors").size())
      by = fmt::format("error {:.2f} %", figures->at("member_errors")[i].get<double>());
    const std::string text = cells[i].dump();
    const Genotype genotype = parse_genotype(text, "json");
    const std::string body =
        text == last ? "<p class=\"soft\">The cell of the member before it.</p>" : cell_drawing(genotype);
    markup += fmt::format("<figure><figcaption>Member {} <span class=\"by\">{}</span></figcaption>\n{}</figure>\n",
                          i + 1, by, body);
    if (text != last) forms += fmt::format("<h3>Member {}</h3>\n{}", i + 1, html::copyable(describe(genotype)));
    last = text;
  }
  return markup + "</div>\n" + html::details("As text", forms);
}

struct FigureLine {
  const char *key, *name, *unit;
};
constexpr std::array<FigureLine, 12> kFigureLines = {{{"error", "ensemble error", " %"},
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

struct FigureColumn {
  const char *key, *name;
};
constexpr std::array<FigureColumn, 6> kFigureColumns = {{{"figures", "value"},
                                                         {"test", "test images"},
                                                         {"valid", "held-out images"},
                                                         {"estimated", "estimated, held-out images"},
                                                         {"shared_test", "test images, shared weights"},
                                                         {"calibrated", "calibrated"}}};

// Every kind of figures that the result has is a column.
std::string figures_table(const Json& result) {
  std::vector<std::string> header = {"figure"};
  for (const FigureColumn& column : kFigureColumns) {
    if (result.contains(column.key)) header.emplace_back(column.name);
  }
  if (header.size() == 1) return "";
  std::vector<html::Row> rows;
  for (const FigureLine& line : kFigureLines) {
    html::Row row{{line.name}, ""};
    for (const FigureColumn& column : kFigureColumns) {
      if (!result.contains(column.key)) continue;
      const Json& figures = result.at(column.key);
      row.cells.push_back(figures.contains(line.key) ? html::number_text(figures.at(line.key).get<double>()) + line.unit
                                                     : "");
    }
    rows.push_back(std::move(row));
  }
  return html::table(header, rows);
}

std::string trials_table(const Json& mean) {
  std::vector<html::Row> rows;
  for (const FigureLine& line : kFigureLines) {
    const Json& figure = mean.at(line.key);
    rows.push_back({{line.name, html::number_text(figure.at("mean").get<double>()) + line.unit,
                     html::number_text(figure.at("standard_error").get<double>())},
                    ""});
  }
  return html::table({"figure", "mean over the ensembles", "standard error"}, rows);
}

std::string rounds_table(const Json& trace) {
  std::vector<html::Row> rows;
  for (const Json& line : trace) {
    rows.push_back({{html::value_text(line.at("round")), html::number_text(line.at("loss").get<double>()),
                     html::number_text(line.at("best").get<double>()),
                     line.contains("delta") ? html::number_text(line.at("delta").get<double>()) : "",
                     html::value_text(line.at("networks")), html::value_text(line.at("ensembles"))},
                    ""});
  }
  return html::details(
      "Every round",
      html::table({"round", "loss", "best so far", "δ", "networks evaluated", "ensembles judged"}, rows));
}

std::string posterior_text(const Json& posterior) {
  std::string text = fmt::format(
      "Posterior: divergence from the uniform distribution {:.2f} nats, softmax temperature "
      "{:g}",
      posterior.at("divergence").get<double>(), posterior.at("tau").get<double>());
  if (posterior.contains("most_probable")) {
    text += fmt::format("; its most probable architecture has an estimated error of {:.2f} %",
                        posterior.at("most_probable").at("error").get<double>());
  }
  return "<p>" + text + ".</p>\n";
}

std::string fairness_text(const Json& fairness) {
  return fmt::format(
      "<p>Fairness: {} steps of single paths, χ² = {:.1f} with {:g} degrees of freedom, p = {:.3g}. A small p would "
      "say "
      "that operations were not trained equally often.</p>\n",
      fairness.at("steps").get<int64_t>(), fairness.at("chi_squared").get<double>(),
      fairness.at("freedom").get<double>(), fairness.at("p_value").get<double>());
}

std::string coloured_legend(const std::vector<std::string>& names) {
  std::vector<Curve> curves;
  for (const std::string& name : names) curves.push_back({name, {}});
  return legend(curves);
}

std::string pictures(const Json& result, const std::string& space) {
  std::string markup;
  for (const EnsembleFigure& figure : ensemble_pictures(result, space)) {
    const DrawnPanel& panel = figure.panel;
    const std::string by = panel.x.empty() ? panel.y : fmt::format("{}, by {}", panel.y, panel.x);
    markup += fmt::format("<figure><figcaption>{} <span class=\"by\">{}</span></figcaption>\n{}\n{}</figure>\n",
                          html::escape(panel.title), html::escape(by),
                          panel.svg.empty() ? html::copyable(figure.csv) : panel.svg, coloured_legend(figure.legend));
  }
  return markup.empty() ? "" : "<div class=\"panels\">\n" + markup + "</div>\n";
}

const Json* errors_of(const Json& result) {
  for (const char* key : {"test", "figures", "valid", "estimated"}) {
    if (result.contains(key)) return &result.at(key);
  }
  return nullptr;
}

}  // namespace

std::string ensemble_section(const Json& result, const std::string& space) {
  if (!result.is_object() || !result.contains("kind") || !(result.contains("cells") || result.contains("trials")))
    return "";
  std::string markup;
  if (result.contains("cells")) markup += html::section("Members", member_cells(result.at("cells"), errors_of(result)));
  std::string figures = result.contains("mean") ? trials_table(result.at("mean")) : figures_table(result);
  if (result.contains("posterior")) figures += posterior_text(result.at("posterior"));
  if (result.contains("fairness") && result.at("fairness").is_object()) figures += fairness_text(result.at("fairness"));
  figures += pictures(result, space);
  if (result.contains("trace") && result.at("trace").size() > 1) figures += rounds_table(result.at("trace"));
  return markup + html::section("Figures", figures);
}

}  // namespace nascent
