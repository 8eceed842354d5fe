// Recipes: published methods as option files, built into the program from recipes/*.toml. Before its sections a recipe
// says which verb it is for:
//
//   # REA: regularised evolution (Real et al. 2019)
//   verb = "search"
//
//   [search]
//   method = "rea"
#pragma once

#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct Recipe {
  std::string name, text;

  // The first comment line: what it is and where it comes from.
  std::string summary() const;
  // The verb that it is for; "" where it does not say.
  std::string verb() const;
  // An Error says what to type where it is for another verb.
  void require_verb(const std::string& verb) const;
};

const std::vector<Recipe>& recipes();
// By name, or from a file where the name ends in .toml; an Error lists the known ones.
Recipe find_recipe(const std::string& name_or_path);

// The options that a recipe leads to; `Options` has declare(OptionTable&).
template <class Options>
Options options_of(const Recipe& recipe) {
  Options options;
  OptionTable table;
  options.declare(table);
  table.read_toml(recipe.text, "recipe " + recipe.name);
  return options;
}

namespace embedded {
const std::vector<Recipe>& recipes();  // generated at build time
}

}  // namespace nascent
