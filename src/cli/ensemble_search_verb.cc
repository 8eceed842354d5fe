// nascent ensemble search: finds networks that predict well together.
#include "nascent/cli/ensemble_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/ensemble/ensemble_search.h"

namespace nascent {
namespace {

class EnsembleSearchVerb : public Verb {
 public:
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    options_.resolve(invocation.resume);
    std::string& scale = options_.search.stages.retrain_scale;
    if (options_.judge == "train" && scale.empty()) scale = invocation.scale;
  }
  ScaleLimits scale_limits() const override { return options_.scale_limits(); }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.search.run);
    const EnsembleSearchResult result = search_ensemble(options_, session);
    print_members(invocation, result.ensemble.members);
    if (result.facts.contains("estimated")) {
      invocation.print("Estimated on held-out images:");
      print_figures(invocation, result.facts.at("estimated"));
    }
    invocation.print(fmt::format("{} networks evaluated, {} ensembles judged.",
                                 result.facts.at("networks_evaluated").get<int64_t>(),
                                 result.facts.at("ensembles_judged").get<int64_t>()));
    invocation.print(fmt::format("Ensemble: {}", (result.directory / "ensemble.json").string()));
    invocation.print(fmt::format("Report:   {}", result.report.string()));
    invocation.print(fmt::format("Train it: nascent ensemble train {}", result.directory.string()));
    Json json = result.facts;
    json.update({{"directory", result.directory.string()}, {"report", result.report.string()}});
    return json;
  }

 private:
  EnsembleOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble search", "finds architectures that predict well together",
                 [] { return std::make_unique<EnsembleSearchVerb>(); });

}  // namespace
}  // namespace nascent
