// FAB towards each of the likeliest wrong classes in turn: one gradient a step instead of one per class.
#include <ATen/ATen.h>

#include <cmath>

#include "nascent/attack/fab.h"
#include "nascent/attack/objective.h"

namespace nascent {
namespace {

class FabTargets : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const at::Tensor classes = best_other_classes(victim.logits(attacked.images), attacked.labels, settings_.classes);
    at::Tensor images = attacked.images.clone(), distance = at::full({attacked.size()}, INFINITY);
    for (int64_t rank = 0; rank < classes.size(1); ++rank) {
      const at::Tensor rows = rows_of(open(distance, threat));
      if (rows.numel() == 0) break;
      const Attacked some = attacked.select(rows).towards(classes.select(1, rank).index_select(0, rows));
      const Boundary boundary{steps(kFabSteps), restarts(), settings_.leave, settings_.seed,
                              "fab-t " + std::to_string(rank)};
      const Outcome found = follow_boundary(victim, some, threat, boundary);
      const at::Tensor length = threat.distance(found.images, some.images);
      const at::Tensor better = rows_of(found.fooled.logical_and(length.lt(distance.index_select(0, rows))));
      const at::Tensor places = rows.index_select(0, better);
      images.index_copy_(0, places, found.images.index_select(0, better));
      distance.index_copy_(0, places, length.index_select(0, better));
    }
    return {images, distance.isfinite()};
  }

 private:
  at::Tensor open(const at::Tensor& distance, const Threat& threat) const {
    if (!settings_.leave || !std::isfinite(threat.eps)) return at::ones_like(distance, at::kBool);
    return distance.gt(threat.eps);
  }
};

NASCENT_REGISTER(
    Attack, "fab-t", "fab towards each of the 9 likeliest wrong classes (Croce and Hein 2020)",
    [](const AttackSettings& settings) { return std::make_unique<FabTargets>(settings); },
    AttackFacts{.minimal = true, .eps_linf = 0, .eps_l2 = 0, .reads = {"steps", "restarts", "target-classes"}});

}  // namespace
}  // namespace nascent
