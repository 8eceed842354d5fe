// nascent recipes: lists the recipes, or shows one with all resulting options.
#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

// A recipe read into the options of the verb that it is for.
struct Resolved {
  std::string verb_name;
  std::unique_ptr<Verb> verb;
  std::unique_ptr<OptionTable> table = std::make_unique<OptionTable>();
};

std::optional<Resolved> resolve_for(const std::string& verb_name, const Recipe& recipe, std::string& problem) {
  Resolved resolved{.verb_name = verb_name, .verb = Verb::Registry::instance().make(verb_name)};
  resolved.verb->declare(*resolved.table);
  try {
    resolved.table->read_toml(recipe.text, "recipe " + recipe.name);
  } catch (const Error& error) {
    if (problem.empty()) problem = error.what();
    return std::nullopt;
  }
  Invocation invocation;
  invocation.verb = verb_name;
  resolved.verb->resolve(invocation);
  return resolved;
}

// A file of the user's own may not say which verb it is for: searches and trainings are tried first.
Resolved resolve_recipe(const Recipe& recipe) {
  std::vector<std::string> verbs = {"search", "train"};
  for (const auto& name : Verb::Registry::instance().names()) {
    if (name != "search" && name != "train") verbs.push_back(name);
  }
  if (!recipe.verb().empty()) verbs = {recipe.verb()};
  std::string problem;
  for (const auto& name : verbs) {
    if (auto resolved = resolve_for(name, recipe, problem)) return std::move(*resolved);
  }
  fail("The recipe '{}' fits no verb: {}", recipe.name, problem);
}

// Every option with its meaning, as in an option file; a star marks what the recipe itself says.
std::string marked_toml(const Resolved& resolved) {
  std::string text, section;
  for (const auto& line : split(resolved.table->to_toml(), '\n')) {
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    const size_t equals = line.find(" = ");
    const bool is_option = !section.empty() && !line.starts_with('#') && equals != std::string::npos;
    const bool own = is_option && resolved.table->at(section + "." + line.substr(0, equals), "recipe").was_set();
    const size_t comment = line.find("  # ", equals == std::string::npos ? 0 : equals);
    text += own ? line.substr(0, comment) + "  # * " + line.substr(comment + 4) : line;
    text += '\n';
  }
  return text;
}

class RecipesVerb : public Verb {
 public:
  std::string arguments() const override { return "[NAME]"; }
  void declare(OptionTable& table) override {
    auto section = table.section("recipes", "What is printed.");
    section.add("source", source_, "print the recipe's own file instead of all resulting options");
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("recipe", false);
    return name.empty() ? list(invocation) : show(invocation, find_recipe(name));
  }

 private:
  static Json list(const Invocation& invocation) {
    Json all = Json::array();
    for (const auto& recipe : recipes()) {
      invocation.print(fmt::format("{:<22} {:<7} {}", recipe.name, recipe.verb(), recipe.summary()));
      all.push_back({{"name", recipe.name}, {"verb", recipe.verb()}, {"summary", recipe.summary()}});
    }
    return all;
  }

  Json show(const Invocation& invocation, const Recipe& recipe) const {
    const Resolved resolved = resolve_recipe(recipe);
    if (source_) {
      invocation.print(recipe.text);
    } else {
      invocation.print(
          fmt::format("# {}: {}\n# For 'nascent {}'. What the recipe itself says is marked *, all else is "
                      "the default.\nverb = \"{}\"\n\n{}",
                      recipe.name, recipe.summary(), resolved.verb_name, resolved.verb_name, marked_toml(resolved)));
    }
    Json own = Json::array();
    for (const auto& option : resolved.table->options()) {
      if (option.was_set()) own.push_back(option.key());
    }
    return {{"name", recipe.name},   {"summary", recipe.summary()},          {"verb", resolved.verb_name},
            {"own", std::move(own)}, {"options", resolved.table->to_json()}, {"toml", recipe.text}};
  }

  bool source_ = false;
};

NASCENT_REGISTER(Verb, "recipes", "lists the recipes, or shows one with all resulting options",
                 [] { return std::make_unique<RecipesVerb>(); });

}  // namespace
}  // namespace nascent
