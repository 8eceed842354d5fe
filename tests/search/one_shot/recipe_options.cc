#include "search/one_shot/recipe_options.h"

#include <algorithm>
#include <filesystem>

#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::filesystem::path folder() { return std::filesystem::path(NASCENT_SOURCE) / "recipes"; }

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

RecipeValues recipe_values(const std::string& name) {
  RecipeValues values;
  std::string section;
  for (const std::string& raw : split(read_file(folder() / (name + ".toml")), '\n')) {
    const std::string line(trim(raw));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const size_t equals = line.find('=');
    values[section + "." + std::string(trim(line.substr(0, equals)))] = std::string(trim(line.substr(equals + 1)));
  }
  return values;
}

RecipeOptions recipe_options(const std::string& name) {
  RecipeOptions options;
  OptionTable table;
  options.search.declare(table);
  options.network.declare(table);
  options.data.declare(table);
  table.section("search", "").add("space", options.space, "");
  for (const auto& [key, value] : recipe_values(name)) {
    // What else a recipe says is for the command line.
    const auto& known = table.options();
    if (std::none_of(known.begin(), known.end(), [&](const Option& option) { return option.key() == key; })) continue;
    const size_t dot = key.find('.');
    table.read_toml("[" + key.substr(0, dot) + "]\n" + key.substr(dot + 1) + " = " + value + "\n", name);
  }
  options.search.drop_path = options.network.drop_path;
  return options;
}

}  // namespace nascent
