// Goodfellow et al. 2015: one step as long as the ball allows.
#include <ATen/ATen.h>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"

namespace nascent {
namespace {

class Fgsm : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const auto slope = victim.gradient(attacked.images, cross_entropy(attacked));
    const at::Tensor moved =
        threat.project(attacked.images + threat.eps * threat.direction(slope.images), attacked.images);
    return {moved, attacked.fooled(victim.logits(moved))};
  }
};

NASCENT_REGISTER(
    Attack, "fgsm", "one step along the gradient's sign (Goodfellow et al. 2015)",
    [](const AttackSettings& settings) { return std::make_unique<Fgsm>(settings); },
    AttackFacts{.takes_target = true, .eps_linf = 0.01});

}  // namespace
}  // namespace nascent
