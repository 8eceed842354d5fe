// A comparison for people: on the terminal and as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nascent/run/cell_section.h"
#include "nascent/run/comparison.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

using Table = std::vector<std::vector<std::string>>;  // the header first

// Counts in full, all else to six digits.
std::string number_text(double value) {
  const bool whole = std::abs(value) < 1e15 && value == std::round(value);
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string number(const std::optional<double>& value) { return value ? number_text(*value) : ""; }

// What is the same in every run of a group needs no deviation; thousands and millions (of parameters, say) need no
// decimals.
std::string mean_text(const MeanAndDeviation& of) {
  const int decimals = std::abs(of.mean) < 1000 ? 4 : 0;
  return of.deviation == 0 ? number_text(of.mean)
                           : fmt::format("{:.{}f} ± {:.{}f}", of.mean, decimals, of.deviation, decimals);
}

bool has_seeds(const Comparison& comparison) {
  return std::any_of(comparison.groups.begin(), comparison.groups.end(),
                     [](const RunGroup& group) { return group.runs.size() > 1; });
}

Table option_table(const Comparison& comparison) {
  Table table = {{"option"}};
  table[0].insert(table[0].end(), comparison.names.begin(), comparison.names.end());
  for (const auto& row : comparison.options) {
    table.push_back({row.key});
    for (const auto& value : row.values) table.back().push_back(value);
  }
  return table;
}

Table result_table(const Comparison& comparison) {
  Table table = {{"result"}};
  table[0].insert(table[0].end(), comparison.names.begin(), comparison.names.end());
  for (const auto& result : comparison.results) {
    table.push_back({result.key});
    for (const auto& value : result.values) table.back().push_back(number(value));
  }
  return table;
}

Table seed_table(const Comparison& comparison) {
  Table table = {{"over seeds"}};
  for (const auto& group : comparison.groups) table[0].push_back(fmt::format("{}", group.name));
  for (const auto& result : comparison.results) {
    if (result.key == "seed") continue;  // its mean means nothing
    table.push_back({result.key});
    for (const auto& group : comparison.groups) table.back().push_back(mean_text(comparison.over_seeds(result, group)));
  }
  return table;
}

std::string pair_text(const Comparison& comparison, const Comparison::Pair& pair) {
  return fmt::format("{}: {} minus {} is {:+.4f} ± {:.4f} over {} seeds, t = {:.3f}, p = {:.4f}", pair.key,
                     comparison.groups[pair.second].name, comparison.groups[pair.first].name, pair.test.difference,
                     pair.test.deviation, pair.test.pairs, pair.test.t, pair.test.p);
}

size_t width_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });  // of UTF-8
}

std::string aligned(const Table& table) {
  std::vector<size_t> widths(table[0].size(), 0);
  for (const auto& row : table) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] - width_of(row[i]) + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

// Short texts stay on one line, and the table scrolls; long ones (genotypes, lists) are broken.
std::string cell_markup(const std::string& text) {
  constexpr size_t kShort = 24;
  const std::string escaped = html::escape(text);
  return width_of(text) > kShort ? escaped : fmt::format("<span style=\"white-space:nowrap\">{}</span>", escaped);
}

std::string markup_of(const Table& table) {
  std::vector<html::Row> rows;
  for (size_t i = 1; i < table.size(); ++i) {
    rows.push_back({{}, ""});
    for (const auto& cell : table[i]) rows.back().cells.push_back(cell_markup(cell));
  }
  return html::table(table[0], rows);
}

// True where no run differs from another, nor one epoch from the next: nothing to see.
bool all_alike(const Plot& plot) {
  const double first = plot.curves[0].points[0].second;
  return std::all_of(plot.curves.begin(), plot.curves.end(), [&](const Curve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(),
                       [&](const auto& point) { return point.second == first; });
  });
}

// The same number of every run in one panel.
std::string curves(const Comparison& comparison) {
  std::vector<std::string> keys;
  std::map<std::string, Panel> panels;
  for (size_t run = 0; run < comparison.paths.size(); ++run) {
    const auto events = comparison.paths[run] / "events.sqlite";
    if (!std::filesystem::exists(events)) continue;
    const EventStore store(events, EventStore::Access::read);
    for (const auto& panel : panels_of(store.events("epoch"), "epoch")) {
      for (const auto& curve : panel.plot.curves) {
        if (curve.points.empty()) continue;
        const std::string title = panel.plot.curves.size() == 1 ? panel.title : panel.title + ": " + curve.name;
        const auto [known, added] = panels.try_emplace(title, Panel{title, "epoch", {}});
        if (added) keys.push_back(title);
        known->second.plot.curves.push_back({comparison.names[run], curve.points});
      }
    }
  }
  std::vector<Panel> ordered;
  for (const auto& key : keys) {
    if (!all_alike(panels.at(key).plot)) ordered.push_back(panels.at(key));
  }
  return figures(ordered, "");
}

// Each architecture once, under the names of the runs that found it.
std::string cells(const Comparison& comparison) {
  std::vector<std::pair<Genotype, std::string>> found;
  for (size_t run = 0; run < comparison.paths.size(); ++run) {
    const auto genotype = RunDirectory::view(comparison.paths[run]).genotype();
    if (!genotype) continue;
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const auto& known) { return known.first == *genotype; });
    if (same == found.end()) {
      found.emplace_back(*genotype, comparison.names[run]);
    } else {
      same->second += ", " + comparison.names[run];
    }
  }
  std::string markup;
  for (const auto& [genotype, names] : found) {
    markup += fmt::format("<div>\n<h3>{}</h3>\n{}</div>\n", html::escape(names), cell_drawing(genotype));
  }
  if (found.size() < 2) return markup;
  // Half of the page each, so that the operations can be read; on a phone one below the other.
  constexpr const char* kColumns = "grid-template-columns:repeat(auto-fit,minmax(min(100%,28rem),1fr))";
  return fmt::format("<div class=\"panels\" style=\"{}\">\n{}</div>\n", kColumns, markup);
}

}  // namespace

std::string to_text(const Comparison& comparison) {
  std::string text = comparison.options.empty() ? "No option differs.\n" : aligned(option_table(comparison));
  if (!comparison.results.empty()) text += "\n" + aligned(result_table(comparison));
  if (has_seeds(comparison) && !comparison.results.empty()) text += "\n" + aligned(seed_table(comparison));
  if (!comparison.pairs.empty()) text += "\n";
  for (const auto& pair : comparison.pairs) text += pair_text(comparison, pair) + "\n";
  return text;
}

std::string comparison_page(const Comparison& comparison) {
  std::string markup = fmt::format("<header>\n<p class=\"eyebrow\">nascent compare</p>\n<h1>{} runs</h1>\n</header>\n",
                                   comparison.paths.size());
  markup += html::section("Options that differ", comparison.options.empty() ? "<p class=\"soft\">None.</p>\n"
                                                                            : markup_of(option_table(comparison)));
  markup += html::section("Results", comparison.results.empty() ? "" : markup_of(result_table(comparison)));
  if (has_seeds(comparison) && !comparison.results.empty()) {
    std::string means = "<p class=\"soft\">Mean ± standard deviation of runs that differ by the seed alone.</p>\n" +
                        markup_of(seed_table(comparison));
    for (const auto& pair : comparison.pairs) {
      means += fmt::format("<p>{} (Student's paired t test).</p>\n", html::escape(pair_text(comparison, pair)));
    }
    markup += html::section("Over seeds", means);
  }
  markup += html::section("Curves", curves(comparison)) + html::section("Cells", cells(comparison));
  return html::page("Comparison · nascent", markup);
}

}  // namespace nascent
