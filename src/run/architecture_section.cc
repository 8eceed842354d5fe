#include "nascent/run/architecture_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nascent/run/curve_section.h"
#include "nascent/run/html.h"
#include "nascent/run/operation_colours.h"
#include "nascent/run/plot.h"
#include "nascent/run/site_names.h"

namespace nascent {
namespace {

// One type of cell: a curve per operation at every site, and the mean entropy of its sites.
struct CellHistory {
  std::string type;
  std::vector<std::string> sites;
  std::vector<std::vector<Curve>> weights;  // [site][op]
  Curve entropy;
};

// The event's own names go before those of the space.
std::vector<std::string> sites_of(const Json& cell, const std::string& space, const std::string& type, size_t count) {
  std::vector<std::string> names;
  if (cell.contains("sites") && cell["sites"].is_array()) {
    for (const auto& name : cell["sites"]) names.push_back(html::value_text(name));
  }
  return names.size() == count ? names : site_names(space, type, count);
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
  return all.emplace_back(CellHistory{type, sites_of(cell, space, type, count), std::vector<std::vector<Curve>>(count),
                                      Curve{html::words(type), {}}});
}

void add_weights(CellHistory& history, const Json& rows, const std::vector<std::string>& ops, double epoch,
                 OperationColours& colours) {
  for (size_t site = 0; site < std::min<size_t>(history.weights.size(), rows.size()); ++site) {
    auto& curves = history.weights[site];
    if (curves.empty()) {
      for (const auto& op : ops) curves.push_back({op, {}, {}, static_cast<int>(colours.of(op))});
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
                                      const std::string& space, OperationColours& colours) {
  std::vector<CellHistory> all;
  for (const auto& event : events) {
    if (!event.values.is_object() || !event.values.contains("cells") || !event.values["cells"].is_object()) continue;
    const double epoch = static_cast<double>(event.epoch + 1);
    for (const auto& [type, cell] : event.values["cells"].items()) {
      if (!is_cell(cell)) continue;
      CellHistory& history = history_of(all, type, cell, space);
      add_weights(history, cell["probabilities"], ops, epoch, colours);
      history.entropy.points.emplace_back(epoch, mean_entropy(cell));
    }
  }
  return all;
}

// One scale for every panel, so that they can be compared: 1 where weights are shares of one whole, else the largest
// sum that an edge has.
double common_top(const std::vector<CellHistory>& all) {
  double largest = 1;
  for (const auto& history : all) {
    for (const auto& curves : history.weights) {
      std::map<double, double> sums;
      for (const auto& curve : curves) {
        for (const auto& [epoch, weight] : curve.points) sums[epoch] += std::isfinite(weight) ? weight : 0;
      }
      for (const auto& [epoch, sum] : sums) largest = std::max(largest, sum);
    }
  }
  return largest < 1.05 ? 1 : largest;
}

constexpr double kWide = 156, kHigh = 92, kLeft = 4, kRight = 152, kFoot = 78;

// Shares of the operations over the epochs, one on another, as an <svg> of the page's own.
std::string stacked(const std::vector<Curve>& curves, double top) {
  std::vector<double> epochs;
  for (const auto& curve : curves) {
    for (const auto& [epoch, weight] : curve.points) epochs.push_back(epoch);
  }
  std::sort(epochs.begin(), epochs.end());
  epochs.erase(std::unique(epochs.begin(), epochs.end()), epochs.end());
  if (epochs.empty()) return "<svg viewBox=\"0 0 156 92\"></svg>";
  const double first = epochs.front(), span = epochs.back() - first;
  const auto across = [&](double epoch) {
    return span > 0 ? kLeft + (epoch - first) / span * (kRight - kLeft) : kLeft;
  };
  std::map<double, double> below;  // what is stacked so far
  std::string areas;
  for (size_t i = 0; i < curves.size(); ++i) {
    std::string up, down;
    for (const auto& [epoch, weight] : curves[i].points) {
      const double from = below[epoch], to = from + (std::isfinite(weight) ? weight : 0);
      below[epoch] = to;
      const auto point = [&](double x, double share) {
        return fmt::format("{:.1f},{:.1f} ", x, kFoot * (1 - share / top));
      };
      up += point(across(epoch), to);
      down = point(across(epoch), from) + down;
      if (span > 0) continue;  // a single epoch is a bar
      up += point(kRight, to);
      down = point(kRight, from) + down;
    }
    areas += fmt::format("<polygon points=\"{}{}\" fill=\"var(--c{})\" fill-opacity=\"0.85\"/>\n", up, down,
                         colour_index(Plot{curves}, i));
  }
  const auto label = [](double x, const char* anchor, double epoch) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"10\" fill=\"var(--axis)\">{:g}</text>\n",
                       x, kHigh - 2, anchor, epoch);
  };
  return fmt::format("<svg viewBox=\"0 0 {} {}\" font-family=\"sans-serif\">\n{}{}{}</svg>\n", kWide, kHigh, areas,
                     label(kLeft, "start", first), span > 0 ? label(kRight, "end", epochs.back()) : "");
}

// As pointer_data, for what stacked() draws.
std::string stacked_pointer(const std::vector<Curve>& curves, double top) {
  Json all = Json::array();
  bool any = false;
  for (size_t i = 0; i < curves.size(); ++i) {
    Json points = Json::array();
    for (const auto& [epoch, weight] : curves[i].points) {
      if (std::isfinite(weight)) points.push_back({epoch, std::stod(fmt::format("{:.4g}", weight))});
    }
    any = any || !points.empty();
    all.push_back({{"name", curves[i].name}, {"colour", colour_index(Plot{curves}, i)}, {"points", points}});
  }
  if (!any) return "";
  const Json data = {{"by", "epoch"}, {"whole", true}, {"stacked", true}, {"top", top}, {"curves", all}};
  return fmt::format(" data-plot=\"{}\"", html::escape(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

size_t strongest(const std::vector<Curve>& curves) {
  const auto last = [](const Curve& curve) { return curve.points.empty() ? -1.0 : curve.points.back().second; };
  const auto most =
      std::max_element(curves.begin(), curves.end(), [&](const Curve& a, const Curve& b) { return last(a) < last(b); });
  return static_cast<size_t>(most - curves.begin());
}

std::string site_figure(const std::string& site, const std::vector<Curve>& curves, double top) {
  const std::string name = html::escape(site);
  if (curves.empty()) return fmt::format("<figure><figcaption>{}</figcaption></figure>\n", name);
  const size_t most = strongest(curves);
  return fmt::format("<figure{}><figcaption>{} <span style=\"color:var(--c{})\">{}</span></figcaption>\n{}</figure>\n",
                     stacked_pointer(curves, top), name, colour_index(Plot{curves}, most),
                     html::escape(curves[most].name), stacked(curves, top));
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
  std::string markup = fmt::format("<h3>{}</h3>\n<div class=\"sites\">\n", html::escape(html::words(history.type)));
  for (size_t i = 0; i < history.weights.size(); ++i) {
    markup += site_figure(history.sites[i], history.weights[i], top);
  }
  return markup + "</div>\n" + html::details("Weights at the end", final_table(history, ops));
}

// Operations that ever had a share: others were left out of the search.
size_t operations_searched(const CellHistory& history) {
  size_t most = 1;
  for (const auto& curves : history.weights) {
    const auto has_share = [](const Curve& curve) {
      return std::any_of(curve.points.begin(), curve.points.end(), [](const auto& point) { return point.second > 0; });
    };
    most = std::max(most, static_cast<size_t>(std::count_if(curves.begin(), curves.end(), has_share)));
  }
  return most;
}

// 0: all is decided; the logarithm of the number of operations: nothing is.
std::string entropy_sentence(const CellHistory& history) {
  const size_t ops = operations_searched(history);
  const double first = history.entropy.points.front().second, last = history.entropy.points.back().second;
  return fmt::format(
      "<p>{}: mean entropy of an edge {} at first, {} at the end; {} if all {} operations were equal.</p>\n",
      html::escape(html::words(history.type)), html::number_text(first), html::number_text(last),
      html::number_text(std::log(static_cast<double>(ops))), ops);
}

}  // namespace

std::string architecture_section(const std::vector<Event>& events, const std::string& space) {
  const std::vector<std::string> ops = op_names(events);
  OperationColours colours = colours_of_space(space);
  const std::vector<CellHistory> all = read_history(events, ops, space, colours);
  if (all.empty() || ops.empty()) return "";
  std::vector<Curve> names;
  for (const auto& op : ops) names.push_back({op, {}, {}, static_cast<int>(colours.of(op))});
  std::string markup =
      "<p class=\"soft\">The share of each operation on every edge, by epoch; beside an edge, the operation that has "
      "most "
      "at the end.</p>\n" +
      legend(names);
  const double top = common_top(all);
  Panel entropy{"Mean entropy of an edge", "epoch", {}};
  std::string entropies;
  for (const auto& history : all) {
    markup += cell_markup(history, ops, top);
    entropy.plot.curves.push_back(history.entropy);
    entropies += entropy_sentence(history);
  }
  markup += "<h3>Entropy</h3>\n" + entropies;
  if (!is_flat(entropy.plot)) markup += figures({entropy}, "");
  return html::section("Architecture weights", markup);
}

}  // namespace nascent
