#include "nascent/run/stage_section.h"

#include <fmt/format.h>

#include <vector>

#include "nascent/run/html.h"

namespace nascent {
namespace {

std::string percent(const Json& entry, const char* key) {
  return entry.contains(key) ? fmt::format("{:.2f} %", entry[key].get<double>()) : "";
}

std::string candidate_table(const Json& candidates) {
  std::vector<html::Row> rows;
  for (const auto& entry : candidates) {
    const bool out = entry.contains("kept") && !entry["kept"].get<bool>();
    std::string tested = percent(entry, "mean");
    if (!tested.empty()) tested += fmt::format(" ± {:.2f}", entry["deviation"].get<double>());
    rows.push_back({{html::value_text(entry["candidate"]), html::escape(html::value_text(entry["found_by_seeds"])),
                     percent(entry, "valid_top1"), out ? "out" : tested,
                     html::escape(entry.contains("test_top1") ? html::value_text(entry["test_top1"]) : ""),
                     fmt::format("<code>{}</code>", html::escape(entry["cell"].get<std::string>()))},
                    ""});
  }
  return html::table({"candidate", "found by seeds", "short training", "test accuracy", "each seed", "cell"}, rows);
}

std::string search_table(const Json& searches) {
  std::vector<html::Row> rows;
  for (const auto& entry : searches) {
    const std::string folder = html::escape(entry["folder"].get<std::string>());
    rows.push_back({{fmt::format("<a href=\"{0}/report.html\">{0}</a>", folder), html::value_text(entry["seed"]),
                     html::value_text(entry["candidate"]),
                     entry.contains("entropy") ? html::number_text(entry["entropy"].get<double>()) : "",
                     html::escape(entry.value("collapse", ""))},
                    ""});
  }
  return html::table({"search", "seed", "candidate", "entropy at the end", "collapsed"}, rows);
}

std::string spread_text(const Json& figures, const std::string& key) {
  if (!figures.contains(key) || !figures[key].contains("mean")) return "";
  return fmt::format("{:.2f} ± {:.2f}", figures[key]["mean"].get<double>(), figures[key].value("deviation", 0.0));
}

// One row a recipe; a column for every measure of the table, with regret and mean rank.
std::string comparison_table(const Json& comparison) {
  std::vector<std::string> measures, header = {"recipe", "searches", "validations", "validation accuracy"};
  const Json best = comparison.value("best of all", Json::object());
  for (const auto& [measure, value] : best.items()) {
    measures.push_back(measure);
    header.push_back(html::words(measure));
    header.emplace_back("regret");
    header.emplace_back("rank");
  }
  std::vector<html::Row> rows;
  for (const auto& [recipe, figures] : comparison.items()) {
    html::Row row{{html::escape(recipe), figures.contains("searches") ? html::value_text(figures["searches"]) : "",
                   figures.contains("validations") ? html::number_text(figures["validations"].get<double>()) : "",
                   spread_text(figures, "valid_top1")},
                  ""};
    for (const auto& measure : measures) {
      const Json entry = figures.value(measure, Json::object());
      row.cells.push_back(spread_text(figures, measure));
      row.cells.push_back(entry.contains("regret") ? fmt::format("{:.2f}", entry["regret"].get<double>()) : "");
      row.cells.push_back(entry.contains("rank") ? fmt::format("{:.0f}", entry["rank"].get<double>()) : "");
    }
    rows.push_back(std::move(row));
  }
  return html::table(header, rows);
}

}  // namespace

std::string stage_section(const Json& result) {
  if (result.is_object() && result.contains("comparison")) {
    return html::section("Comparison", comparison_table(result["comparison"]));
  }
  if (!result.is_object() || !result.contains("stages")) return "";
  const Json& stages = result["stages"];
  return html::section("Stages", candidate_table(stages["candidates"]) + search_table(stages["searches"]));
}

}  // namespace nascent
