// nascent recipes: lists the recipes, or prints one.
#include "cli/recipes.h"
#include "cli/verb.h"

namespace nascent {
namespace {

class RecipesVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME]"; }
  void declare(OptionTable&) override {}

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("recipe", false);
    if (!name.empty()) {
      const Recipe recipe = find_recipe(name);
      invocation.print(recipe.text);
      return {{"name", recipe.name}, {"toml", recipe.text}};
    }
    Json all = Json::array();
    for (const auto& recipe : recipes()) {
      invocation.print(fmt::format("{:<18} {}", recipe.name, recipe.summary()));
      all.push_back({{"name", recipe.name}, {"summary", recipe.summary()}});
    }
    return all;
  }
};

NASCENT_REGISTER(Verb, "recipes", "lists the recipes, or prints one", [] { return std::make_unique<RecipesVerb>(); });

}  // namespace
}  // namespace nascent
