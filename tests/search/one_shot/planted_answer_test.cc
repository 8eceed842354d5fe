// Every one-shot recipe finds the path that is right by construction, from several seeds and in both directions, and
// does not find it where the labels are shuffled.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "nascent/train/loop.h"
#include "search/one_shot/recipe_options.h"
#include "search/one_shot/tiny_problem.h"

namespace nascent {
namespace {

constexpr int kSeeds = 4;  // half of them with the answer up and down, half from left to right

std::vector<std::string> one_shot_recipes() {
  std::vector<std::string> names;
  for (const auto& name : recipe_names()) {
    const RecipeValues values = recipe_values(name);
    if (values.at(".verb") == "\"search\"" && values.count("search.relaxation") > 0) names.push_back(name);
  }
  return names;
}

// Epochs of two steps (four in single-level searches): methods that see one sample a step need more of them.
int epochs_of(const RecipeOptions& recipe) {
  const std::string& relaxation = recipe.search.relaxation.relaxation;
  if (relaxation == "gumbel" || relaxation == "concrete" || recipe.space.find("1shot1") != std::string::npos) return 60;
  return relaxation == "controller" ? 40 : 20;
}

// The recipe's method, with rates and a length for a problem of a few dozen steps.
OneShotOptions shortened(const RecipeOptions& recipe) {
  OneShotOptions options = recipe.search;
  const double factor = static_cast<double>(epochs_of(recipe)) / options.epochs;
  options.epochs = epochs_of(recipe);
  options.freeze_epochs = static_cast<int>(std::ceil(options.freeze_epochs * factor));
  options.weights.lr = 0.1;
  if (options.relaxation.relaxation == "controller") {
    options.weights.lr = 0.2;  // its own rate is right: a faster one settles before the weights are worth listening to
  } else {
    options.update.optimizer.lr = options.update.update == "optimizer" ? 0.05 : 1;
  }
  options.relaxation.exclude = {};  // the tiny space has no `none`
  if (options.relaxation.relaxation == "single-path") options.update = UpdateOptions();
  if (!Discretisation::Registry::instance().at(options.discretisation).facts.ranks) options.samples = 40;
  return options;
}

TinyProblemOptions problem_of(const RecipeOptions& recipe, int seed, bool shuffled) {
  TinyProblemOptions problem;
  problem.vertical = seed % 2 == 0;
  problem.shuffled = shuffled;
  problem.seed = static_cast<uint64_t>(seed) + 1;
  problem.ops_on_nodes = recipe.space.find("1shot1") != std::string::npos;
  problem.images = 128;
  problem.split = recipe.data.valid_fraction > 0;
  problem.partial = recipe.network.partial;
  problem.channels = problem.partial > 1 ? 16 : 4;
  return problem;
}

int found(const std::string& name, bool shuffled) {
  const RecipeOptions recipe = recipe_options(name);
  int right = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const TinyProblem problem(problem_of(recipe, seed, shuffled));
    const auto search = problem.search(shortened(recipe));
    run_job(*search, {});
    right += problem.is_right(search->genotype());
  }
  return right;
}

class PlantedAnswer : public testing::TestWithParam<std::string> {};

TEST_P(PlantedAnswer, IsFoundFromEverySeed) { EXPECT_EQ(found(GetParam(), /*shuffled=*/false), kSeeds); }

// One of six paths is right: luck alone finds it from every seed once in a thousand times.
TEST_P(PlantedAnswer, IsNotFoundWhereLabelsAreShuffled) { EXPECT_LT(found(GetParam(), /*shuffled=*/true), kSeeds); }

INSTANTIATE_TEST_SUITE_P(Recipes, PlantedAnswer, testing::ValuesIn(one_shot_recipes()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(PlantedAnswers, EveryOneShotRecipeIsAsked) { EXPECT_GE(one_shot_recipes().size(), 18u); }

}  // namespace
}  // namespace nascent
