// Carlini and Wagner 2017, L2: Adam on the squared distance plus a constant times how far the image is from being
// fooled, in coordinates where every point is a possible image.
#include <ATen/ATen.h>

#include <cmath>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"

namespace nascent {
namespace {

constexpr int kCwSteps = 50;
constexpr double kFirstConstant = 1e-3;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

class Adam {
 public:
  Adam(const at::Tensor& like, double rate) : mean_(at::zeros_like(like)), square_(at::zeros_like(like)), rate_(rate) {}

  at::Tensor step(const at::Tensor& gradient) {
    ++steps_;
    mean_ = kBeta1 * mean_ + (1 - kBeta1) * gradient;
    square_ = kBeta2 * square_ + (1 - kBeta2) * gradient.square();
    const double mean_scale = 1 / (1 - std::pow(kBeta1, steps_)), square_scale = 1 / (1 - std::pow(kBeta2, steps_));
    return -rate_ * (mean_ * mean_scale) / ((square_ * square_scale).sqrt() + kEpsilon);
  }

 private:
  at::Tensor mean_, square_;
  double rate_;
  int steps_ = 0;
};

// The constants of all images: 0.001 at first, times 10 while nothing is found, bisected from then on.
class Constants {
 public:
  explicit Constants(int64_t images)
      : now_(at::full({images}, kFirstConstant)), low_(at::zeros({images})), high_(at::full({images}, INFINITY)) {}

  const at::Tensor& now() const { return now_; }

  void learn(const at::Tensor& succeeded) {
    high_ = at::where(succeeded, at::minimum(high_, now_), high_);
    low_ = at::where(succeeded, low_, at::maximum(low_, now_));
    now_ = at::where(high_.isinf(), now_ * 10, (low_ + high_) / 2);
  }

 private:
  at::Tensor now_, low_, high_;
};

class CarliniWagner : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    Best best{attacked.images.clone(), at::full({attacked.size()}, INFINITY)};
    Constants constants(attacked.size());
    for (int search = 0; search < settings_.searches; ++search) {
      constants.learn(descend(victim, attacked, threat, constants.now(), best));
    }
    return {best.images, best.distance.isfinite()};
  }

 private:
  struct Best {
    at::Tensor images, distance;
  };

  // Which images were fooled on the way.
  at::Tensor descend(const Victim& victim, const Attacked& attacked, const Threat& threat, const at::Tensor& constants,
                     Best& best) const {
    const at::Tensor top = threat.top.defined() ? threat.top : at::ones({1, 1, 1, 1});
    // Just inside the box, as its border is infinitely far in these coordinates.
    at::Tensor w = at::atanh((2 * attacked.images / top - 1) * (1 - 1e-6));
    const auto lead = margin(attacked);
    const auto lack = [&](const at::Tensor& logits) {
      return constants * (settings_.confidence - lead(logits)).clamp_min(0);
    };
    Adam adam(w, settings_.rate);
    at::Tensor succeeded = at::zeros({attacked.size()}, at::kBool);
    for (int step = 0;; ++step) {
      const at::Tensor tanh = w.tanh(), x = threat.inside(top * (tanh + 1) / 2), moved = x - attacked.images;
      const bool last = step == steps(kCwSteps);
      const auto slope = last ? Victim::Gradient{victim.logits(x), {}, {}} : victim.gradient(x, lack);
      const at::Tensor reached = attacked.fooled(slope.logits).logical_and(lead(slope.logits).ge(settings_.confidence));
      const at::Tensor distance = lengths(moved, Norm::l2);
      const at::Tensor better = reached.logical_and(distance.lt(best.distance));
      best.images = at::where(over_pixels(better), x, best.images);
      best.distance = at::where(better, distance, best.distance);
      succeeded = succeeded.logical_or(reached);
      if (last) return succeeded;
      w = w + adam.step((slope.images + 2 * moved) * (top / 2) * (1 - tanh.square()));
    }
  }
};

NASCENT_REGISTER(
    Attack, "cw", "the nearest image by Adam in tanh coordinates (Carlini and Wagner 2017)",
    [](const AttackSettings& settings) { return std::make_unique<CarliniWagner>(settings); },
    AttackFacts{.linf = false,
                .takes_target = true,
                .minimal = true,
                .eps_linf = 0,
                .eps_l2 = 0,
                .reads = {"steps", "searches", "confidence", "rate"}});

}  // namespace
}  // namespace nascent
