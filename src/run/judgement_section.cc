#include "nascent/run/judgement_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "nascent/run/heat_table.h"
#include "nascent/run/html.h"
#include "nascent/run/reliability_diagram.h"

namespace nascent {
namespace {

constexpr size_t kMatrixClasses = 20;  // a matrix of more is a list of its largest entries
constexpr size_t kConfusionsListed = 12;

using Counts = std::vector<std::vector<int64_t>>;

int64_t images_of(const Counts& confusion, size_t label) {
  return std::accumulate(confusion[label].begin(), confusion[label].end(), int64_t{0});
}

// The weakest classes first.
std::string class_table(const Json& judgement, const Counts& confusion) {
  const auto names = judgement.at("classes").get<std::vector<std::string>>();
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  const auto accuracy = [&](size_t label) { return judgement.at("class_accuracy").at(names[label]).get<double>(); };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return accuracy(a) < accuracy(b); });
  std::vector<html::Row> rows;
  for (const size_t label : order) {
    const int64_t images = images_of(confusion, label);
    rows.push_back({{html::escape(names[label]), images > 0 ? fmt::format("{:.2f} %", accuracy(label)) : "",
                     fmt::format("{} of {}", confusion[label][label], images)},
                    ""});
  }
  return html::table({"class", "accuracy", "right"}, rows);
}

std::string confusion_matrix(const std::vector<std::string>& names, const Counts& confusion) {
  HeatTable heat{.rows = names, .columns = names, .top = 1, .format = "{:.0f}"};
  for (size_t label = 0; label < names.size(); ++label) {
    heat.values.emplace_back(confusion[label].begin(), confusion[label].end());
    heat.top = std::max(heat.top, static_cast<double>(images_of(confusion, label)));
  }
  const DrawnPanel panel = heat_panel(heat, "", "");
  return fmt::format(
      "<figure><figcaption>Confusion matrix <span class=\"by\">rows: true class; columns: predicted "
      "class</span></figcaption>\n<div class=\"wide\">{}</div></figure>\n",
      panel.svg);
}

std::string confusion_list(const std::vector<std::string>& names, const Counts& confusion) {
  struct Confusion {
    size_t label, predicted;
    int64_t images;
  };
  std::vector<Confusion> all;
  for (size_t label = 0; label < names.size(); ++label) {
    for (size_t other = 0; other < names.size(); ++other) {
      if (label != other && confusion[label][other] > 0) all.push_back({label, other, confusion[label][other]});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Confusion& a, const Confusion& b) { return a.images > b.images; });
  all.resize(std::min(all.size(), kConfusionsListed));
  std::vector<html::Row> rows;
  for (const Confusion& entry : all) {
    rows.push_back({{html::escape(names[entry.label]), html::escape(names[entry.predicted]),
                     fmt::format("{} of {}", entry.images, images_of(confusion, entry.label))},
                    ""});
  }
  return html::table({"class", "most often predicted as", "images"}, rows);
}

// A network whose outputs are not finite has confusions, but no probabilities.
std::string calibration(const Json& judgement) {
  if (!judgement.at("calibration_error").is_number()) return "<p>The probabilities are not finite.</p>\n";
  return fmt::format(
      "<figure><figcaption>Reliability <span class=\"by\">accuracy by confidence; the dashed line is perfect "
      "calibration</span></figcaption>\n{}</figure>\n<p>Expected calibration error: {:.2f} points.</p>\n",
      reliability_svg(judgement.at("reliability"), 240), judgement.at("calibration_error").get<double>());
}

std::string mistake_figure(const Json& mistake) {
  const Json& probability = mistake.at("probability");
  const std::string text = fmt::format(
      "{}, predicted as {}{}", mistake.at("label").get<std::string>(), mistake.at("predicted").get<std::string>(),
      probability.is_number() ? fmt::format(" ({:.1f} %)", 100 * probability.get<double>()) : "");
  const std::string picture =
      mistake.contains("picture")
          ? fmt::format("<img src=\"{}\" alt=\"{}\" height=\"112\">",
                        html::escape(mistake.at("picture").get<std::string>()), html::escape(text))
          : "";
  return fmt::format(
      "<figure class=\"mistake\">{}<figcaption>{} <span class=\"by\">image {}</span></figcaption></figure>\n", picture,
      html::escape(text), mistake.at("image").get<int64_t>());
}

std::string worst_mistakes(const Json& judgement) {
  std::string figures;
  for (const Json& mistake : judgement.at("worst")) figures += mistake_figure(mistake);
  return figures.empty() ? "" : "<div class=\"samples\">\n" + figures + "</div>\n";
}

}  // namespace

std::string judgement_section(const Json& judgement) {
  if (!judgement.is_object() || !judgement.contains("confusion")) return "";
  const auto names = judgement.at("classes").get<std::vector<std::string>>();
  const auto confusion = judgement.at("confusion").get<Counts>();
  std::string markup = html::section("By class", class_table(judgement, confusion));
  markup += html::section("Confusions", names.size() <= kMatrixClasses ? confusion_matrix(names, confusion)
                                                                       : confusion_list(names, confusion));
  markup += html::section("Calibration", calibration(judgement));
  return markup + html::section("Worst mistakes", worst_mistakes(judgement));
}

std::string judgement_page(const Json& judgement, const std::string& title, const std::string& what) {
  return html::page(title,
                    fmt::format("<header><p class=\"eyebrow\">nascent eval</p><h1>{}</h1></header>\n<p>{}</p>\n{}",
                                html::escape(title), html::escape(what), judgement_section(judgement)));
}

}  // namespace nascent
