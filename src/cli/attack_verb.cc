// nascent attack: how a model or an ensemble answers images that are moved on purpose.
#include "nascent/attack/attacking.h"
#include "nascent/attack/campaign.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/ensemble/ensemble_model.h"

namespace nascent {
namespace {

// The members of an ensemble file, and how their answers become one.
ModelFile read_members(const std::filesystem::path& path) {
  EnsembleModel ensemble = load_ensemble(path);
  return {std::move(ensemble.members),
          {.weights = ensemble.weights,
           .of_logits = ensemble.combine == Combination::logits,
           .temperature = ensemble.temperature},
          {.passes = ensemble.passes, .drop_path = ensemble.drop_path, .seed = ensemble.seed}};
}

class AttackVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL..."; }
  bool resumable() const override { return true; }
  bool spreads() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    if (!invocation.arguments.empty()) options_.attack.models = invocation.arguments;
    options_.resolve(invocation.resume);
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    Json result = attack(options_, session, read_members);
    for (const auto& line : describe_result(result)) invocation.print(line);
    for (const auto& warning : describe_warnings(result)) log::warning("{}", warning);
    const RunDirectory& run = session.directory();
    invocation.print(fmt::format("Images: {}", (run.path() / "adversarial.nascent").string()));
    invocation.print(fmt::format("Report: {}", run.report_path().string()));
    result.update({{"directory", run.path().string()}, {"report", run.report_path().string()}});
    return result;
  }

 private:
  AttackingOptions options_;
};

NASCENT_REGISTER(Verb, "attack", "attacks a trained model or an ensemble and reports its robust accuracy",
                 [] { return std::make_unique<AttackVerb>(); });
NASCENT_REGISTER(cluster::Helper, "attack", "batches of images under attack",
                 [](const Json& opening) { return attack_helper(opening, read_members); });

}  // namespace
}  // namespace nascent
