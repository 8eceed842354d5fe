// Moosavi-Dezfooli et al. 2016: step after step to the nearest border of a linear victim that agrees with this one
// here.
#include <ATen/ATen.h>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"

namespace nascent {
namespace {

constexpr int kDeepFoolSteps = 50, kClasses = 10;
constexpr double kDeepFoolOvershoot = 0.02, kBeyond = 1e-4;

class DeepFool : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    at::Tensor classes = best_other_classes(victim.logits(attacked.images), attacked.labels, kClasses - 1);
    // Where an image leaves the batch is what counts here, so it always does.
    Remaining left(attacked, /*leave=*/true);
    at::Tensor x = attacked.images, way = at::zeros_like(x);
    for (int step = 0; step < steps(kDeepFoolSteps); ++step) {
      const Attacked& now = left.now();
      way = way + to_border(class_differences(victim, x, now.labels, classes), threat.norm);
      x = threat.inside(now.images + (1 + kDeepFoolOvershoot) * way);
      if (const auto rows = left.leave(x, now.fooled(victim.logits(x)))) {
        if (left.empty()) break;
        for (at::Tensor* tensor : {&x, &way, &classes}) *tensor = tensor->index_select(0, *rows);
      }
    }
    return left.outcome();
  }

 private:
  // The step to the nearest border, a little beyond it.
  static at::Tensor to_border(const ClassDifferences& found, Norm norm) {
    const int64_t images = found.values.size(0), classes = found.values.size(1);
    const at::Tensor slopes =
        dual_lengths(found.gradients.flatten(0, 1), norm).view({images, classes}).clamp_min(1e-12);
    const at::Tensor nearest = (found.values.abs() / slopes).argmin(1);
    const at::Tensor rows = at::arange(images, at::kLong);
    const at::Tensor slope = found.gradients.index({rows, nearest}), length = slopes.index({rows, nearest});
    const at::Tensor gap = found.values.index({rows, nearest}).abs() + kBeyond;
    if (norm == Norm::linf) return over_pixels(gap / length) * slope.sign();
    return over_pixels(gap / length.square()) * slope;
  }
};

NASCENT_REGISTER(
    Attack, "deepfool", "to the nearest border of the linearised victim (Moosavi-Dezfooli et al. 2016)",
    [](const AttackSettings& settings) { return std::make_unique<DeepFool>(settings); },
    AttackFacts{.minimal = true, .eps_linf = 0, .eps_l2 = 0, .reads = {"steps"}});

}  // namespace
}  // namespace nascent
