// nascent ensemble train: trains the members that a search found.
#include "nascent/cli/ensemble_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/ensemble/ensemble_training.h"

namespace nascent {
namespace {

class EnsembleTrainVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN"; }
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  bool spreads() const override { return true; }
  std::string recipes_of(const std::string&) const override { return "train"; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    if (const std::string run = invocation.argument("ensemble search's folder", false); !run.empty())
      options_.ensemble = run;
    options_.resolve(invocation.resume);
  }
  ScaleLimits scale_limits() const override { return options_.scale_limits(); }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.training.run);
    const EnsembleTrainingResult result = train_ensemble(options_, session);
    print_trained_members(invocation, result.facts);
    invocation.print("Test images:");
    print_figures(invocation, result.facts.at("test"));
    invocation.print(fmt::format("Model:  {}", result.model.string()));
    invocation.print(fmt::format("Report: {}", result.report.string()));
    Json json = result.facts;
    json.update({{"model", result.model.string()},
                 {"directory", result.directory.string()},
                 {"report", result.report.string()}});
    return json;
  }

 private:
  EnsembleTrainingOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble train", "trains the members found by an ensemble search",
                 [] { return std::make_unique<EnsembleTrainVerb>(); });

}  // namespace
}  // namespace nascent
