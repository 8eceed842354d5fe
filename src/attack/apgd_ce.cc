// Auto-PGD on the cross-entropy.
#include "nascent/attack/apgd.h"

namespace nascent {
namespace {

class ApgdCrossEntropy : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const Ascent ascent{.steps = steps(kApgdSteps), .passes = settings_.passes, .objective = cross_entropy};
    return apgd(victim, attacked, threat, ascent, restarts(), settings_, "apgd-ce");
  }
};

NASCENT_REGISTER(
    Attack, "apgd-ce", "Auto-PGD on the cross-entropy (Croce and Hein 2020)",
    [](const AttackSettings& settings) { return std::make_unique<ApgdCrossEntropy>(settings); },
    AttackFacts{.takes_target = true, .reads = {"steps", "restarts", "passes"}});

}  // namespace
}  // namespace nascent
