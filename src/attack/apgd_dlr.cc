// Auto-PGD on the difference of logits ratio, which confident answers do not flatten.
#include "nascent/attack/apgd.h"

namespace nascent {
namespace {

class ApgdLogitsRatio : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const Ascent ascent{.steps = steps(kApgdSteps), .passes = settings_.passes, .objective = logits_ratio};
    return apgd(victim, attacked, threat, ascent, restarts(), settings_, "apgd-dlr");
  }
};

NASCENT_REGISTER(
    Attack, "apgd-dlr", "Auto-PGD on the difference of logits ratio (Croce and Hein 2020)",
    [](const AttackSettings& settings) { return std::make_unique<ApgdLogitsRatio>(settings); },
    AttackFacts{.takes_target = true,
                .fewest_classes = 3,
                .fewest_classes_target = 4,
                .reads = {"steps", "restarts", "passes"}});

}  // namespace
}  // namespace nascent
