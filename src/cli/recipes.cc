#include "nascent/cli/recipes.h"

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {

std::string Recipe::summary() const {
  for (const auto& line : split(text, '\n')) {
    if (line.starts_with('#')) return std::string(trim(line.substr(1)));
  }
  return "";
}

const std::vector<Recipe>& recipes() { return embedded::recipes(); }

Recipe find_recipe(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) return {name_or_path, read_file(name_or_path)};
  std::vector<std::string> names;
  for (const auto& recipe : recipes()) {
    if (recipe.name == name_or_path) return recipe;
    names.push_back(recipe.name);
  }
  fail("There is no recipe '{}'.{} Known: {}; a path ending in .toml is read as a file.", name_or_path,
       suggestion(name_or_path, names), join(names, ", "));
}

}  // namespace nascent
