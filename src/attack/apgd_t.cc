// Auto-PGD towards each of the likeliest wrong classes in turn.
#include <ATen/ATen.h>

#include "nascent/attack/apgd.h"
#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

class ApgdTargets : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    const Ascent ascent{.steps = steps(kApgdSteps), .passes = settings_.passes, .objective = logits_ratio};
    const at::Tensor classes = best_other_classes(victim.logits(attacked.images), attacked.labels, settings_.classes);
    const at::Tensor none = at::full({attacked.size()}, false, at::kBool);
    Outcome outcome{attacked.images.clone(), none.clone()};
    at::Tensor open = none.logical_not();
    for (int64_t rank = 0; rank < classes.size(1); ++rank) {
      const at::Tensor rows = rows_of(open);
      if (rows.numel() == 0) break;
      const Attacked some = attacked.select(rows).towards(classes.select(1, rank).index_select(0, rows));
      // Another target draws other points.
      const std::string name = "apgd-t " + std::to_string(rank);
      const Outcome found = apgd(victim, some, threat, ascent, restarts(), settings_, name);
      take(outcome, found, rows, rank == 0);
      open = outcome.fooled.logical_not();
    }
    return outcome;
  }

 private:
  // What failed towards the likeliest class is kept until something succeeds.
  static void take(Outcome& outcome, const Outcome& found, const at::Tensor& rows, bool first) {
    const at::Tensor taken = first ? at::arange(rows.numel(), at::kLong) : rows_of(found.fooled);
    const at::Tensor places = rows.index_select(0, taken);
    outcome.images.index_copy_(0, places, found.images.index_select(0, taken));
    outcome.fooled.index_copy_(0, places, found.fooled.index_select(0, taken));
  }
};

NASCENT_REGISTER(
    Attack, "apgd-t", "Auto-PGD towards each of the 9 likeliest wrong classes (Croce and Hein 2020)",
    [](const AttackSettings& settings) { return std::make_unique<ApgdTargets>(settings); },
    AttackFacts{.fewest_classes = 4, .reads = {"steps", "restarts", "passes", "target-classes"}});

}  // namespace
}  // namespace nascent
