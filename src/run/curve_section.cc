#include "nascent/run/curve_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "nascent/core/text.h"
#include "nascent/run/html.h"

namespace nascent {
namespace {

constexpr size_t kMostPoints = 400;  // more cannot be told apart at the width of a panel

double place_of(const Event& event, const std::string& by) {
  return static_cast<double>(by == "step" ? event.step : event.epoch + 1);
}

bool ends_with_word(const std::string& key, const std::string& word) {
  return key == word || key.ends_with("_" + word);
}

std::string title_of(const std::string& key) {
  static const std::map<std::string, std::string> kKnown = {
      {"lr", "Learning rate"}, {"grad_norm", "Gradient norm"}, {"seconds", "Seconds"}, {"skips", "Skip connections"}};
  if (ends_with_word(key, "loss")) return "Loss";
  if (ends_with_word(key, "top1") || ends_with_word(key, "top5")) return "Accuracy (%)";
  if (const auto known = kKnown.find(key); known != kKnown.end()) return known->second;
  std::string title = html::words(key);
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::string in_lower_case(std::string title) {
  if (!title.empty() && title[0] >= 'A' && title[0] <= 'Z') title[0] = static_cast<char>(title[0] - 'A' + 'a');
  return title;
}

// What is left to say of a curve under its panel's title: "train" for train_loss.
std::string name_in_panel(const std::string& key) {
  if (key.ends_with("_loss")) return html::words(key.substr(0, key.size() - 5));
  return html::words(key);
}

std::vector<std::string> numeric_keys(const std::vector<Event>& events) {
  std::vector<std::string> keys;
  for (const auto& event : events) {
    if (!event.values.is_object()) continue;
    for (const auto& [key, value] : event.values.items()) {
      if (value.is_number() && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

Points points_of(const std::vector<Event>& events, const std::string& key, const std::string& by) {
  Points points;
  for (const auto& event : events) {
    if (!event.values.is_object() || !event.values.contains(key) || !event.values[key].is_number()) continue;
    points.emplace_back(place_of(event, by), event.values[key].get<double>());
  }
  return thinned(points, kMostPoints);
}

std::string figure(const Panel& panel, const std::string& drawing) {
  return fmt::format("<figure{}><figcaption>{} <span class=\"by\">by {}</span></figcaption>\n{}\n{}</figure>\n",
                     pointer_data(panel.plot, panel.by), html::escape(panel.title), html::escape(panel.by), drawing,
                     legend(panel.plot.curves));
}

// The numbers behind the curves.
std::string number_table(const std::vector<Event>& events, const std::string& by) {
  const std::vector<std::string> keys = numeric_keys(events);
  std::vector<std::string> header = {by};
  for (const auto& key : keys) header.push_back(html::words(key));
  std::vector<html::Row> rows;
  for (const auto& event : events) {
    html::Row row{{fmt::format("{:.0f}", place_of(event, by))}, ""};
    for (const auto& key : keys) {
      const bool there = event.values.is_object() && event.values.contains(key) && event.values[key].is_number();
      row.cells.push_back(there ? html::number_text(event.values[key].get<double>()) : "");
    }
    rows.push_back(std::move(row));
  }
  return html::table(header, rows);
}

// A table a person can read: some rows of very many.
std::vector<Event> some_of(const std::vector<Event>& events, size_t most) {
  const size_t stride = (events.size() + most - 1) / most;
  if (stride <= 1) return events;
  std::vector<Event> some;
  for (size_t i = stride - 1; i < events.size(); i += stride) some.push_back(events[i]);
  return some;
}

// What never changed is said, not drawn.
std::string flat_sentence(const std::vector<Panel>& flat, const std::string& by) {
  if (flat.empty()) return "";
  std::vector<std::string> facts;
  for (const auto& panel : flat) {
    for (const auto& curve : panel.plot.curves) {
      std::string title = panel.title;
      if (panel.plot.curves.size() > 1) title = fmt::format("{} {}", curve.name, in_lower_case(title));
      facts.push_back(fmt::format("{} {}", html::escape(title), html::number_text(curve.points.front().second)));
    }
  }
  const bool once = flat.front().plot.curves.front().points.size() == 1;
  return fmt::format("<p class=\"soft\">{}: {}.</p>\n", once ? "After one " + by : "The same throughout",
                     join(facts, ", "));
}

// Curves of one kind of events, and the numbers behind them.
std::string kind_markup(const EventStore& store, const std::string& kind) {
  const std::string by = kind == "epoch" ? "epoch" : "step";
  const std::vector<Event> events = store.events(kind);
  const std::string numbers = number_table(some_of(events, kind == "epoch" ? 1000 : 200), by);
  std::vector<Panel> panels = panels_of(events, by);
  if (by == "epoch" && !store.events("architecture").empty()) {
    std::erase_if(panels, [](const Panel& panel) { return panel.title == "Entropy"; });  // shown with the weights
  }
  std::vector<Panel> flat;
  const auto changes = [](const Panel& panel) { return !is_flat(panel.plot); };
  const auto first_flat = std::stable_partition(panels.begin(), panels.end(), changes);
  flat.assign(first_flat, panels.end());
  panels.erase(first_flat, panels.end());
  const std::string drawn = figures(panels, numbers) + flat_sentence(flat, by);
  return kind == "epoch" && !drawn.empty() ? drawn + html::details("Numbers by epoch", numbers) : drawn;
}

}  // namespace

std::vector<Panel> panels_of(const std::vector<Event>& events, const std::string& by) {
  std::vector<Panel> panels;
  for (const auto& key : numeric_keys(events)) {
    const std::string title = title_of(key);
    auto panel = std::find_if(panels.begin(), panels.end(), [&](const Panel& known) { return known.title == title; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), Panel{title, by, {}});
    panel->plot.curves.push_back({name_in_panel(key), points_of(events, key, by)});
  }
  return panels;
}

std::string legend(const std::vector<Curve>& curves) {
  if (curves.size() < 2) return "";
  const Plot plot{curves};
  std::string markup = "<p class=\"legend\">";
  for (size_t i = 0; i < curves.size(); ++i) {
    markup +=
        fmt::format("<span><i{} style=\"background-color:var(--c{})\"></i>{}</span> ",
                    is_dashed(plot, i) ? " class=\"dashed\"" : "", colour_index(plot, i), html::escape(curves[i].name));
  }
  return markup + "</p>\n";
}

std::string figures(const std::vector<Panel>& panels, const std::string& otherwise) {
  if (panels.empty()) return "";
  std::vector<Plot> plots;
  for (const auto& panel : panels) plots.push_back(panel.plot);
  const auto drawings = draw_plots(plots);
  if (!drawings) {
    return "<p class=\"soft\">gnuplot could not be run, so the curves are shown as numbers.</p>\n" + otherwise;
  }
  std::string markup = "<div class=\"panels\">\n";
  for (size_t i = 0; i < panels.size(); ++i) markup += figure(panels[i], (*drawings)[i]);
  return markup + "</div>\n";
}

std::string curve_section(const EventStore& store) {
  std::vector<std::string> others = store.kinds();
  std::erase_if(others, [](const std::string& kind) {
    return kind == "epoch" || kind == "step" || kind == "architecture";  // the last has a section of its own
  });
  std::string markup = kind_markup(store, "epoch");
  for (const auto& kind : others) {
    const std::string drawn = kind_markup(store, kind);
    if (!drawn.empty()) markup += fmt::format("<h3>{}</h3>\n", html::escape(title_of(kind))) + drawn;
  }
  const std::string steps = kind_markup(store, "step");
  if (!steps.empty()) markup += html::details("Curves by step", steps, markup.empty());
  return html::section("Curves", markup);
}

}  // namespace nascent
