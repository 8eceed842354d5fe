// Recipes are the papers': every value of every recipe is pinned.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/search/one_shot/method_check.h"
#include "search/one_shot/recipe_options.h"

namespace nascent {
namespace {

// What a recipe says about the command that it is for is not a setting of the paper.
bool is_setting(const std::string& key) {
  static const std::set<std::string> sections = {"search", "weights", "architecture", "network",
                                                 "data",   "train",   "stages"};
  return sections.count(key.substr(0, key.find('.'))) > 0 && key != "search.method";
}

std::map<std::string, RecipeValues> pinned() {
  const auto file = std::filesystem::path(NASCENT_SOURCE) / "tests/search/one_shot/recipe_values.txt";
  std::map<std::string, RecipeValues> all;
  for (const std::string& line : split(read_file(file), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' '), equals = line.find(" = ");
    all[line.substr(0, space)][line.substr(space + 1, equals - space - 1)] = line.substr(equals + 3);
  }
  return all;
}

TEST(Recipes, SayWhatThePapersSay) {
  const auto expected = pinned();
  for (const auto& [name, values] : expected) {
    RecipeValues found = recipe_values(name);
    std::erase_if(found, [](const auto& item) { return !is_setting(item.first); });
    EXPECT_EQ(found, values) << name;
  }
  for (const auto& name : recipe_names()) {
    const bool one_shot = recipe_values(name).count("search.relaxation") > 0 && !name.starts_with("demo");
    if (!one_shot && !name.starts_with("retrain")) continue;
    EXPECT_EQ(expected.count(name), 1u) << name << " is not pinned";
  }
}

// Amended DARTS searches as it trains (Amended-DARTS, section 4.1.2).
TEST(Recipes, AmendedDartsSearchesAsItTrains) {
  for (const std::string name : {"amended-darts-s1", "amended-darts-s2"}) {
    const RecipeOptions recipe = recipe_options(name);
    EXPECT_EQ(recipe.network.channels, 36);
    EXPECT_TRUE(recipe.network.auxiliary);
    EXPECT_GT(recipe.search.drop_path, 0);
    EXPECT_EQ(recipe.data.train_transforms.back(), "cutout 16");
    EXPECT_EQ(recipe.search.relaxation.spread, 0) << "equal weights at the start";
  }
}

TEST(Recipes, NoneAsksForWhatItsMethodIgnores) {
  for (const auto& name : recipe_names()) {
    if (recipe_values(name).count("search.relaxation") == 0) continue;
    const RecipeOptions recipe = recipe_options(name);
    EXPECT_NO_THROW(check_method(recipe.search, *find_space(recipe.space))) << name;
  }
}

}  // namespace
}  // namespace nascent
