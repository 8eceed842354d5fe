// Dong et al. 2018: small steps along a running sum of normalised gradients, which carries them over narrow maxima.
#include <ATen/ATen.h>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"

namespace nascent {
namespace {

constexpr int kMomentumSteps = 10;
constexpr double kDecay = 1;

class MomentumFgsm : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const int count = steps(kMomentumSteps);
    const double length = threat.eps * (settings_.step > 0 ? settings_.step : 1.0 / count);
    Remaining left(attacked, settings_.leave);
    at::Tensor x = attacked.images, velocity = at::zeros_like(x);
    for (int step = 0; step < count; ++step) {
      const auto slope = victim.gradient(x, cross_entropy(left.now()));
      const at::Tensor sums = slope.images.abs().sum({1, 2, 3}).clamp_min(1e-12);
      velocity = kDecay * velocity + slope.images / over_pixels(sums);
      if (const auto rows = left.leave(x, left.now().fooled(slope.logits))) {
        if (left.empty()) return left.outcome();
        x = x.index_select(0, *rows);
        velocity = velocity.index_select(0, *rows);
      }
      x = threat.project(x + length * threat.direction(velocity), left.now().images);
    }
    left.finish(x, left.now().fooled(victim.logits(x)));
    return left.outcome();
  }
};

NASCENT_REGISTER(
    Attack, "mi-fgsm", "ten short steps along a running sum of gradients (Dong et al. 2018)",
    [](const AttackSettings& settings) { return std::make_unique<MomentumFgsm>(settings); },
    AttackFacts{.takes_target = true, .eps_linf = 0.01, .reads = {"steps", "step"}});

}  // namespace
}  // namespace nascent
