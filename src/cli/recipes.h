// Recipes: published methods as option files, built into the program from recipes/*.toml.
#pragma once

#include <string>
#include <vector>

namespace nascent {

struct Recipe {
  std::string name, text;

  // The first comment line: what it is and where it comes from.
  std::string summary() const;
};

const std::vector<Recipe>& recipes();
// By name, or from a file where the name ends in .toml; an Error lists the known ones.
Recipe find_recipe(const std::string& name_or_path);

namespace embedded {
const std::vector<Recipe>& recipes();  // generated at build time
}

}  // namespace nascent
