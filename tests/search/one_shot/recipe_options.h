// Recipes as a search reads them, for tests below the command line.
#pragma once

#include <map>
#include <string>

#include "nascent/data/data_options.h"
#include "nascent/search/one_shot/one_shot_search.h"
#include "nascent/space/plan.h"

namespace nascent {

// "section.key" -> value, as written.
using RecipeValues = std::map<std::string, std::string>;
RecipeValues recipe_values(const std::string& name);
std::vector<std::string> recipe_names();

struct RecipeOptions {
  std::string space;
  OneShotOptions search;
  NetworkOptions network;
  DataOptions data;
};
RecipeOptions recipe_options(const std::string& name);

}  // namespace nascent
