#include "nascent/run/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"
#include "nascent/run/run_figures.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

using Options = std::map<std::string, std::string>;  // key to value, as people read it

constexpr const char* kSeed = "run.seed";

// Where a run lies and how often it writes checkpoints says nothing about its result.
bool is_housekeeping(const std::string& key) {
  return key == "run.out" || key == "run.overwrite" || key == "run.memory" || key.starts_with("run.checkpoint-");
}

Options options_of(const RunDirectory& run) {
  Options options;
  const Json sections = run.options();
  for (const auto& [section, values] : sections.items()) {
    if (!values.is_object()) continue;
    for (const auto& [name, value] : values.items()) {
      const std::string key = section + "." + name;
      if (!is_housekeeping(key)) options[key] = html::value_text(value);
    }
  }
  return options;
}

// The last parts of the paths, as many as it takes to tell them apart.
std::vector<std::string> short_names(const std::vector<fs::path>& paths) {
  std::vector<std::vector<std::string>> parts;
  size_t longest = 0;
  for (const auto& path : paths) {
    parts.emplace_back();
    for (const auto& part : path.lexically_normal()) {
      if (!part.empty() && part != ".") parts.back().push_back(part.string());
    }
    longest = std::max(longest, parts.back().size());
  }
  std::vector<std::string> names;
  for (size_t count = 1; count <= std::max<size_t>(longest, 1); ++count) {
    names.clear();
    for (const auto& all : parts) {
      const size_t first = all.size() > count ? all.size() - count : 0;
      names.push_back(join({all.begin() + static_cast<ptrdiff_t>(first), all.end()}, "/"));
    }
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) break;
  }
  return names;
}

std::vector<Comparison::Row> differing(const std::vector<Options>& runs) {
  std::set<std::string> keys;
  for (const auto& options : runs) {
    for (const auto& [key, value] : options) keys.insert(key);
  }
  std::vector<Comparison::Row> rows;
  for (const auto& key : keys) {
    Comparison::Row row{key, {}};
    for (const auto& options : runs) row.values.push_back(options.count(key) != 0 ? options.at(key) : "");
    if (std::set<std::string>(row.values.begin(), row.values.end()).size() > 1) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Comparison::Result> results_of(const std::vector<Json>& results) {
  std::vector<Comparison::Result> rows;
  for (size_t run = 0; run < results.size(); ++run) {
    for (const auto& [key, value] : result_numbers(results[run])) {
      auto row = std::find_if(rows.begin(), rows.end(), [&key = key](const auto& known) { return known.key == key; });
      if (row == rows.end()) {
        row = rows.insert(rows.end(), Comparison::Result{key, std::vector<std::optional<double>>(results.size())});
      }
      row->values[run] = value;
    }
  }
  return rows;
}

std::vector<RunGroup> groups_of(const std::vector<std::string>& names, const std::vector<Options>& runs) {
  std::vector<RunGroup> groups;
  std::vector<Options> shared;
  for (size_t run = 0; run < runs.size(); ++run) {
    Options others = runs[run];
    const auto seed = others.find(kSeed);
    const int64_t number = seed == others.end() ? -1 : std::strtoll(seed->second.c_str(), nullptr, 10);
    others.erase(kSeed);
    const size_t place = std::find(shared.begin(), shared.end(), others) - shared.begin();
    if (place == shared.size()) {
      shared.push_back(others);
      groups.push_back({names[run], {}, {}});
    }
    groups[place].runs.push_back(run);
    if (number >= 0) groups[place].seeds.push_back(number);
  }
  for (auto& group : groups) {
    if (group.runs.size() > 1) group.name += fmt::format(" (+{})", group.runs.size() - 1);
  }
  return groups;
}

// Seed to value; a seed that occurs twice is left out, as it has no one partner.
std::map<int64_t, double> by_seed(const RunGroup& group, const Comparison::Result& result) {
  std::map<int64_t, double> values;
  std::set<int64_t> twice;
  for (size_t i = 0; i < group.seeds.size() && group.seeds.size() == group.runs.size(); ++i) {
    const auto& value = result.values[group.runs[i]];
    if (value && !values.emplace(group.seeds[i], *value).second) twice.insert(group.seeds[i]);
  }
  for (const int64_t seed : twice) values.erase(seed);
  return values;
}

std::vector<Comparison::Pair> pairs_of(const std::vector<RunGroup>& groups, const Comparison::Result& figure) {
  std::vector<Comparison::Pair> pairs;
  for (size_t first = 0; first < groups.size(); ++first) {
    for (size_t second = first + 1; second < groups.size(); ++second) {
      const auto a = by_seed(groups[first], figure), b = by_seed(groups[second], figure);
      std::vector<double> differences;
      for (const auto& [seed, value] : a) {
        if (const auto partner = b.find(seed); partner != b.end()) differences.push_back(partner->second - value);
      }
      if (differences.size() >= 2) pairs.push_back({first, second, figure.key, paired_test(differences)});
    }
  }
  return pairs;
}

std::string shared_figure(const std::vector<Json>& results) {
  for (const auto& result : results) {
    if (const auto figure = run_figure(result)) return figure->key;
  }
  return "";
}

}  // namespace

MeanAndDeviation Comparison::over_seeds(const Result& result, const RunGroup& group) const {
  std::vector<double> numbers;
  for (const size_t run : group.runs) {
    if (result.values[run]) numbers.push_back(*result.values[run]);
  }
  return mean_and_deviation(numbers);
}

Comparison compare_runs(const std::vector<fs::path>& paths, const std::string& figure) {
  if (paths.size() < 2) fail("A comparison needs at least two runs, as in 'nascent compare runs/a runs/b'.");
  std::vector<Options> options;
  std::vector<Json> results;
  for (const auto& path : paths) {
    const RunDirectory run = RunDirectory::view(path);
    options.push_back(options_of(run));
    results.push_back(run.result());
  }
  Comparison comparison{.paths = paths, .names = short_names(paths), .options = differing(options)};
  comparison.results = results_of(results);
  comparison.groups = groups_of(comparison.names, options);
  comparison.figure = figure.empty() ? shared_figure(results) : figure;
  const auto found = std::find_if(comparison.results.begin(), comparison.results.end(),
                                  [&](const auto& result) { return result.key == comparison.figure; });
  if (found != comparison.results.end()) {
    comparison.pairs = pairs_of(comparison.groups, *found);
  } else if (!figure.empty()) {
    std::vector<std::string> keys;
    for (const auto& result : comparison.results) keys.push_back(result.key);
    fail("No run has the result '{}'.{} There are: {}.", figure, suggestion(figure, keys), join(keys, ", "));
  }
  return comparison;
}

Json Comparison::to_json() const {
  Json json = {{"runs", Json::array()},   {"options", Json::object()}, {"results", Json::object()},
               {"groups", Json::array()}, {"figure", figure},          {"pairs", Json::array()}};
  for (const auto& path : paths) json["runs"].push_back(path.string());
  for (const auto& row : options) json["options"][row.key] = row.values;
  for (const auto& result : results) {
    for (const auto& value : result.values) json["results"][result.key].push_back(value ? Json(*value) : Json());
  }
  for (const auto& group : groups) {
    Json entry = {{"name", group.name}, {"runs", group.runs}, {"seeds", group.seeds}};
    for (const auto& result : results) {
      const auto [mean, deviation] = over_seeds(result, group);
      entry["results"][result.key] = {{"mean", mean}, {"deviation", deviation}};
    }
    json["groups"].push_back(std::move(entry));
  }
  for (const auto& pair : pairs) {
    json["pairs"].push_back({{"first", groups[pair.first].name},
                             {"second", groups[pair.second].name},
                             {"figure", pair.key},
                             {"pairs", pair.test.pairs},
                             {"difference", pair.test.difference},
                             {"deviation", pair.test.deviation},
                             {"t", std::isfinite(pair.test.t) ? Json(pair.test.t) : Json()},
                             {"p", pair.test.p}});
  }
  return json;
}

std::string to_csv(const Comparison& comparison) {
  std::string text = "kind,key";
  for (const auto& name : comparison.names) text += "," + csv_field(name);
  for (const auto& row : comparison.options) {
    text += "\noption," + csv_field(row.key);
    for (const auto& value : row.values) text += "," + csv_field(value);
  }
  for (const auto& result : comparison.results) {
    text += "\nresult," + csv_field(result.key);
    for (const auto& value : result.values) text += value ? fmt::format(",{}", *value) : ",";
  }
  return text + "\n";
}

}  // namespace nascent
