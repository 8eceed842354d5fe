#include "nascent/run/architecture_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/run/curve_section.h"
#include "nascent/run/html.h"
#include "nascent/run/plot.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

// One type of cell: a curve per operation at every site, and the mean entropy of its sites.
struct CellHistory {
  std::string type;
  std::vector<std::string> sites;
  std::vector<std::vector<Curve>> weights;  // [site][op]
  Curve entropy;
};

std::vector<std::string> named_by_space(const std::string& space, const std::string& type) {
  std::vector<std::string> names;
  const auto found = find_space(space);
  for (const auto& cell : found->cells()) {
    if (cell.type != type) continue;
    if (cell.ops_on_nodes) {
      for (size_t node = 0; node < cell.nodes.size(); ++node) names.push_back(fmt::format("node {}", node + 1));
    } else {
      for (const auto& edge : Space::edges(cell)) {
        if (edge.to >= 0) names.push_back(fmt::format("{}→{}", edge.from, edge.to));
      }
    }
  }
  return names;
}

std::vector<std::string> site_names(const Json& cell, const std::string& space, const std::string& type, size_t count) {
  std::vector<std::string> names;
  if (cell.contains("sites") && cell["sites"].is_array()) {
    for (const auto& name : cell["sites"]) names.push_back(html::value_text(name));
  } else if (!space.empty()) {
    try {
      names = named_by_space(space, type);
    } catch (const Error&) {  // a space this program does not know: numbers will do
    }
  }
  if (names.size() == count) return names;
  names.clear();
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i + 1));
  return names;
}

double mean_entropy(const Json& cell) {
  double sum = 0;
  size_t count = 0;
  if (cell.contains("entropy") && cell["entropy"].is_array()) {
    for (const auto& value : cell["entropy"]) {
      if (value.is_number()) sum += value.get<double>(), ++count;
    }
  } else {
    for (const auto& row : cell["probabilities"]) {
      for (const auto& p : row) sum -= p.is_number() && p > 0 ? p.get<double>() * std::log(p.get<double>()) : 0;
      ++count;
    }
  }
  return count == 0 ? NAN : sum / static_cast<double>(count);
}

bool is_cell(const Json& cell) {
  return cell.is_object() && cell.contains("probabilities") && cell["probabilities"].is_array() &&
         std::all_of(cell["probabilities"].begin(), cell["probabilities"].end(),
                     [](const Json& row) { return row.is_array(); });
}

CellHistory& history_of(std::vector<CellHistory>& all, const std::string& type, const Json& cell,
                        const std::string& space) {
  const auto known = std::find_if(all.begin(), all.end(), [&](const auto& history) { return history.type == type; });
  if (known != all.end()) return *known;
  const size_t count = cell["probabilities"].size();
  return all.emplace_back(CellHistory{type, site_names(cell, space, type, count),
                                      std::vector<std::vector<Curve>>(count), Curve{html::words(type), {}}});
}

void add_weights(CellHistory& history, const Json& rows, const std::vector<std::string>& ops, double epoch) {
  for (size_t site = 0; site < std::min<size_t>(history.weights.size(), rows.size()); ++site) {
    auto& curves = history.weights[site];
    if (curves.empty()) {
      for (const auto& op : ops) curves.push_back({op, {}});
    }
    for (size_t op = 0; op < std::min<size_t>(curves.size(), rows[site].size()); ++op) {
      if (rows[site][op].is_number()) curves[op].points.emplace_back(epoch, rows[site][op].get<double>());
    }
  }
}

std::vector<std::string> op_names(const std::vector<Event>& events) {
  std::vector<std::string> names;
  for (const auto& event : events) {
    if (!event.values.is_object() || !event.values.contains("ops")) continue;
    for (const auto& op : event.values["ops"]) names.push_back(html::value_text(op));
    break;
  }
  return names;
}

std::vector<CellHistory> read_history(const std::vector<Event>& events, const std::vector<std::string>& ops,
                                      const std::string& space) {
  std::vector<CellHistory> all;
  for (const auto& event : events) {
    if (!event.values.is_object() || !event.values.contains("cells") || !event.values["cells"].is_object()) continue;
    const double epoch = static_cast<double>(event.epoch + 1);
    for (const auto& [type, cell] : event.values["cells"].items()) {
      if (!is_cell(cell)) continue;
      CellHistory& history = history_of(all, type, cell, space);
      add_weights(history, cell["probabilities"], ops, epoch);
      history.entropy.points.emplace_back(epoch, mean_entropy(cell));
    }
  }
  return all;
}

// One scale for every panel, so that they can be compared: up to the next tenth above the largest weight.
double common_top(const std::vector<CellHistory>& all) {
  double largest = 0.1;
  for (const auto& history : all) {
    for (const auto& curves : history.weights) {
      for (const auto& curve : curves) {
        for (const auto& [epoch, weight] : curve.points) {
          if (std::isfinite(weight)) largest = std::max(largest, weight);
        }
      }
    }
  }
  return std::ceil(largest * 10 - 1e-9) / 10;
}

size_t strongest(const std::vector<Curve>& curves) {
  const auto last = [](const Curve& curve) { return curve.points.empty() ? -1.0 : curve.points.back().second; };
  const auto most =
      std::max_element(curves.begin(), curves.end(), [&](const Curve& a, const Curve& b) { return last(a) < last(b); });
  return static_cast<size_t>(most - curves.begin());
}

std::string site_figure(const std::string& site, const std::vector<Curve>& curves, const std::string& drawing) {
  const size_t most = strongest(curves);
  const std::string op = curves.empty() ? "" : html::escape(curves[most].name);
  return fmt::format("<figure><figcaption>{} <span style=\"color:var(--c{})\">{}</span></figcaption>\n{}</figure>\n",
                     html::escape(site), most % kPlotColours, op, drawing);
}

// Site by operation: the weights at the end.
std::string final_table(const CellHistory& history, const std::vector<std::string>& ops) {
  std::vector<std::string> header = {"edge"};
  header.insert(header.end(), ops.begin(), ops.end());
  std::vector<html::Row> rows;
  for (size_t site = 0; site < history.weights.size(); ++site) {
    html::Row row{{html::escape(history.sites[site])}, ""};
    for (const auto& curve : history.weights[site]) {
      row.cells.push_back(curve.points.empty() ? "" : fmt::format("{:.3f}", curve.points.back().second));
    }
    rows.push_back(std::move(row));
  }
  return html::table(header, rows);
}

std::string cell_markup(const CellHistory& history, const std::vector<std::string>& ops, double top) {
  std::vector<Plot> plots;
  for (const auto& curves : history.weights) plots.push_back({curves, 156, 96, true, top});
  std::string markup = fmt::format("<h3>{}</h3>\n", html::escape(html::words(history.type)));
  const std::string numbers = final_table(history, ops);
  const auto drawings = draw_plots(plots);
  if (!drawings) return markup + "<p class=\"soft\">Weights at the end.</p>\n" + numbers;
  markup += "<div class=\"sites\">\n";
  for (size_t i = 0; i < history.weights.size(); ++i) {
    markup += site_figure(history.sites[i], history.weights[i], (*drawings)[i]);
  }
  return markup + "</div>\n" + html::details("Weights at the end", numbers);
}

}  // namespace

std::string architecture_section(const std::vector<Event>& events, const std::string& space) {
  const std::vector<std::string> ops = op_names(events);
  const std::vector<CellHistory> all = read_history(events, ops, space);
  if (all.empty() || ops.empty()) return "";
  std::vector<Curve> names;
  for (const auto& op : ops) names.push_back({op, {}});
  std::string markup =
      "<p class=\"soft\">How much of each operation every edge holds, by epoch; beside an edge, the operation that "
      "holds "
      "most at the end.</p>\n" +
      legend(names);
  const double top = common_top(all);
  Panel entropy{"Mean entropy of an edge", "epoch", {}};
  std::string entropies;
  for (const auto& history : all) {
    markup += cell_markup(history, ops, top);
    entropy.plot.curves.push_back(history.entropy);
    const double last = history.entropy.points.back().second;
    entropies += fmt::format("<p>{}: mean entropy {} at the end.</p>\n", html::escape(html::words(history.type)),
                             html::number_text(last));
  }
  markup += "<h3>Entropy</h3>\n" + figures({entropy}, entropies);
  return html::section("ArchitectureParameters weights", markup);
}

}  // namespace nascent
