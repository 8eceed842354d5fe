#include "nascent/core/recipes.h"

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

std::string Recipe::verb() const {
  for (const auto& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.starts_with('[')) break;
    const size_t equals = words.find('=');
    if (equals == std::string_view::npos || trim(words.substr(0, equals)) != "verb") continue;
    std::string_view value = trim(words.substr(equals + 1));
    value = trim(value.substr(0, value.find('#')));
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') {
      fail("recipe {}: expected a verb in quotes, as in verb = \"search\"; found {}.", name, value);
    }
    return std::string(value.substr(1, value.size() - 2));
  }
  return "";
}

void Recipe::require_verb(const std::string& wanted) const {
  if (const std::string own = verb(); !own.empty() && own != wanted) {
    fail("The recipe '{0}' is for 'nascent {1}', not for 'nascent {2}': type nascent {1} --recipe {0}.", name, own,
         wanted);
  }
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
