// nascent search: finds an architecture, by whatever method.
#include "nascent/cli/search_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/search/method.h"

namespace nascent {
namespace {

class SearchVerb : public Verb {
 public:
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  bool spreads() const override { return true; }
  bool scales_itself() const override { return !options_.comparison.recipes.empty(); }
  void declare(OptionTable& table) override { options_.declare(table); }

  void resolve(const Invocation& invocation) override {
    if (invocation.resume.empty() && invocation.options != nullptr) {
      options_.comparison.recipes.empty() ? check_options(options_.method, *invocation.options)
                                          : keep_typed(invocation);
    }
    options_.resolve(invocation.resume);
    if (options_.stages.retrain_scale.empty()) options_.stages.retrain_scale = invocation.scale;
  }
  ScaleLimits scale_limits() const override { return options_.scale_limits(); }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    const SearchResult result = search(options_, session);
    print_search(invocation, result);
    return result.to_json();
  }

 private:
  // What is typed beside --recipes holds for every search.
  void keep_typed(const Invocation& invocation) {
    if (!invocation.recipe.empty()) fail("Give --recipe for one search, or --recipes to compare several, not both.");
    for (const Option& option : invocation.options->options()) {
      const std::string& section = option.section();
      if (!option.was_set() || section == "run" || section == "stages" || section == "compare") continue;
      options_.comparison.set.push_back(option.key() + "=" + value_text(option.value()));
    }
    options_.comparison.scale = invocation.scale;
  }

  static std::string value_text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  SearchOptions options_;
};

NASCENT_REGISTER(Verb, "search", "finds an architecture: by weight sharing, black-box search, or at initialisation",
                 [] { return std::make_unique<SearchVerb>(); });

}  // namespace
}  // namespace nascent
