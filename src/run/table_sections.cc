#include "nascent/run/table_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "nascent/run/html.h"
#include "nascent/run/result_sentences.h"

namespace nascent {
namespace {

constexpr size_t kMostListed = 12;  // of a list of objects; more are in result.json

bool holds_objects(const Json& value) {
  return value.is_array() &&
         std::any_of(value.begin(), value.end(), [](const Json& one) { return one.is_structured(); });
}

// Nested objects become "outer inner" rows, and so do lists of objects: "models 1 name".
void add_rows(const Json& json, const std::string& prefix, std::vector<html::Row>& rows) {
  size_t place = 0;
  for (const auto& [key, value] : json.items()) {
    const std::string word = json.is_array() ? std::to_string(++place) : html::words(key);
    const std::string name = prefix.empty() ? word : prefix + " · " + word;
    if (json.is_array() && place > kMostListed) {
      rows.push_back({{html::escape(prefix), fmt::format("… ({} in all)", json.size())}, ""});
      return;
    }
    if (value.is_object() || holds_objects(value)) {
      add_rows(value, name, rows);
    } else {
      rows.push_back({{html::escape(name), html::escape(html::value_text(value))}, ""});
    }
  }
}

struct OptionRow {
  std::string key;
  Json value, standard;
  std::string meaning;
  bool changed = false;
};

// 3 and 3.0 are the same option.
bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
  if (!a.is_array() || !b.is_array() || a.size() != b.size()) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), same);
}

const Json* find_value(const Json& values, const std::string& key) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos || !values.contains(key.substr(0, dot))) return nullptr;
  const Json& section = values[key.substr(0, dot)];
  const auto value = section.find(key.substr(dot + 1));
  return value == section.end() ? nullptr : &*value;
}

// In the order in which the program declares them, which run.json keeps; values are those of options.toml.
std::vector<OptionRow> option_rows(const RunDirectory& run) {
  const Json values = run.options();
  std::vector<OptionRow> rows;
  for (const auto& option : run.info().value("options", Json::array())) {
    OptionRow row{option.value("key", ""), nullptr, option.value("default", Json()), option.value("meaning", "")};
    const Json* value = find_value(values, row.key);
    if (value == nullptr) continue;
    row.value = *value;
    row.changed = !same(row.value, row.standard);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string shown(const Json& value) {
  const std::string text = html::value_text(value);
  return text.empty() ? "<span class=\"soft\">(empty)</span>" : html::escape(text);
}

// Rows that fold on a narrow screen: key, value and what it was, meaning.
std::string option_list(const std::vector<OptionRow>& options, bool mark) {
  std::string markup = "<dl class=\"options\">\n";
  for (const auto& option : options) {
    const std::string standard = option.changed ? fmt::format("<small>default {}</small>", shown(option.standard)) : "";
    markup += fmt::format("<div{}><dt><code>{}</code></dt><dd>{}{}</dd><dd class=\"meaning soft\">{}</dd></div>\n",
                          mark && option.changed ? " class=\"changed\"" : "", html::escape(option.key),
                          shown(option.value), standard, html::escape(option.meaning));
  }
  return markup + "</dl>\n";
}

}  // namespace

std::string result_section(const RunDirectory& run) {
  Json result = run.result();
  if (!result.is_object()) return "";
  const std::string sentences = result_sentences(run);
  // They have a section of their own, or are too long for a table.
  for (const char* key : {"stages", "comparison", "genotype", "trials", "curve", "defence", "transfer"})
    result.erase(key);
  if (result.contains("kind")) {
    for (const char* key : {"cells", "test", "valid", "estimated", "shared_test", "trace", "posterior", "fairness",
                            "figures", "tsne", "corrupted", "calibrated", "mean", "trained"})
      result.erase(key);
  }
  if (result.empty()) return "";
  std::vector<html::Row> rows;
  add_rows(result, "", rows);
  const std::string table = html::table({"", "value"}, rows);
  return html::section("Result", sentences.empty() ? table : sentences + html::details("All numbers", table));
}

std::string option_section(const RunDirectory& run) {
  const std::vector<OptionRow> all = option_rows(run);
  if (all.empty()) return "";
  std::vector<OptionRow> changed;
  std::copy_if(all.begin(), all.end(), std::back_inserter(changed), [](const OptionRow& row) { return row.changed; });
  std::string markup =
      fmt::format("<p class=\"soft\">{} of {} differ from their defaults.</p>\n", changed.size(), all.size());
  if (!changed.empty()) markup += option_list(changed, false);
  markup += html::details(fmt::format("All {} options", all.size()), option_list(all, true));
  return html::section("Options", markup);
}

}  // namespace nascent
