// Madry et al. 2018: steps along the gradient, each taken back into the ball, from a random point of it.
#include <ATen/ATen.h>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"
#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

constexpr int kPgdSteps = 40;
constexpr double kPgdStep = 0.8;  // of eps: 0.008 for 0.01

class Pgd : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    Remaining left(attacked, settings_.leave);
    for (int restart = 0; restart < restarts() && !left.empty(); ++restart) climb(victim, threat, restart, left);
    return left.outcome();
  }

 private:
  void climb(const Victim& victim, const Threat& threat, int restart, Remaining& left) const {
    const double length = threat.eps * (settings_.step > 0 ? settings_.step : kPgdStep);
    at::Tensor x = random_start(left.now(), threat, Spread::inside, settings_.seed, "pgd", restart);
    for (int step = 0; step < steps(kPgdSteps); ++step) {
      const auto slope = victim.gradient(x, cross_entropy(left.now()));
      at::Tensor gradient = slope.images;
      if (const auto rows = left.leave(x, left.now().fooled(slope.logits))) {
        if (left.empty()) return;
        x = x.index_select(0, *rows);
        gradient = gradient.index_select(0, *rows);
      }
      x = threat.project(x + length * threat.direction(gradient), left.now().images);
    }
    left.finish(x, left.now().fooled(victim.logits(x)));
  }
};

NASCENT_REGISTER(
    Attack, "pgd", "steps along the gradient inside the ball (Madry et al. 2018)",
    [](const AttackSettings& settings) { return std::make_unique<Pgd>(settings); },
    AttackFacts{
        .takes_target = true, .eps_linf = 0.01, .not_weaker_than = "fgsm", .reads = {"steps", "step", "restarts"}});

}  // namespace
}  // namespace nascent
