#include "nascent/attack/fab.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/attack/objective.h"
#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

constexpr double kMostPull = 0.1;       // alpha_max: of the clean image's projection
constexpr double kFabOvershoot = 1.05;  // eta
constexpr double kStepBack = 0.9;       // beta

// The nearest linearised border of every image: how far its logits are from it, and its slope.
struct Border {
  at::Tensor value, slope;
};

Border nearest_border(const ClassDifferences& found, Norm norm) {
  const int64_t images = found.values.size(0), classes = found.values.size(1);
  const at::Tensor slopes = dual_lengths(found.gradients.flatten(0, 1), norm).view({images, classes}).clamp_min(1e-12);
  const at::Tensor nearest = (found.values.abs() / slopes).argmin(1), rows = at::arange(images, at::kLong);
  return {found.values.index({rows, nearest}), found.gradients.index({rows, nearest})};
}

at::Tensor one_step(const Border& border, const at::Tensor& x, const at::Tensor& clean, const Threat& threat) {
  // The plane is where the linearised difference is zero; it is -value away from x.
  const at::Tensor gap_clean = border.value + (border.slope * (clean - x)).sum({1, 2, 3});
  const at::Tensor from_here = step_to_plane(x, border.slope, border.value, threat);
  const at::Tensor from_clean = step_to_plane(clean, border.slope, gap_clean, threat);
  const at::Tensor here = lengths(from_here, threat.norm), there = lengths(from_clean, threat.norm);
  const at::Tensor pull = over_pixels((here / (here + there).clamp_min(1e-12)).clamp_max(kMostPull));
  return threat.inside((1 - pull) * (x + kFabOvershoot * from_here) + pull * (clean + kFabOvershoot * from_clean));
}

at::Tensor all_other_classes(const at::Tensor& labels, int64_t classes) {
  const at::Tensor ranks = at::arange(classes - 1, at::kLong).unsqueeze(0), own = labels.unsqueeze(1);
  return ranks + ranks.ge(own).to(at::kLong);
}

class Follower {
 public:
  Follower(const Victim& victim, const Attacked& attacked, const Threat& threat, const Boundary& boundary)
      : victim_(victim),
        threat_(threat),
        boundary_(boundary),
        all_(attacked),
        images_(attacked.images.clone()),
        distance_(at::full({attacked.size()}, INFINITY)) {}

  void run(int restart) {
    at::Tensor places = open();
    if (places.numel() == 0) return;
    Attacked now = all_.select(places);
    at::Tensor x = start(now, places, restart);
    for (int step = 0; step < boundary_.steps; ++step) {
      const at::Tensor classes =
          now.aims.defined() ? now.aims.unsqueeze(1) : all_other_classes(now.labels, victim_.classes());
      const Border border = nearest_border(class_differences(victim_, x, now.labels, classes), threat_.norm);
      x = one_step(border, x, now.images, threat_);
      const at::Tensor fooled = now.fooled(victim_.logits(x));
      note(places, x, fooled, threat_.distance(x, now.images));
      x = at::where(over_pixels(fooled), now.images + kStepBack * (x - now.images), x);
      const at::Tensor rows = still_open(places);
      if (rows.numel() == places.numel()) continue;
      if (rows.numel() == 0) return;
      places = places.index_select(0, rows);
      now = now.select(rows);
      x = x.index_select(0, rows);
    }
  }

  Outcome outcome() const { return {images_, distance_.isfinite()}; }

 private:
  at::Tensor done() const {
    if (!boundary_.leave || !std::isfinite(threat_.eps)) return at::zeros_like(distance_, at::kBool);
    return distance_.le(threat_.eps);
  }
  at::Tensor open() const { return rows_of(done().logical_not()); }
  at::Tensor still_open(const at::Tensor& places) const {
    return rows_of(done().index_select(0, places).logical_not());
  }

  // The first run begins at the clean image, others within half of what is known to be enough.
  at::Tensor start(const Attacked& now, const at::Tensor& places, int restart) const {
    if (restart == 0) return now.images;
    const at::Tensor known = distance_.index_select(0, places);
    const double far = std::isfinite(threat_.eps) ? threat_.eps : 0.1;
    const at::Tensor radius = at::where(known.isfinite(), known, at::full_like(known, far)).clamp_max(far) / 2;
    Threat wide = threat_;
    wide.eps = INFINITY;
    return random_start(now, wide, Spread::surface, boundary_.seed, boundary_.name, restart, radius);
  }

  void note(const at::Tensor& places, const at::Tensor& x, const at::Tensor& fooled, const at::Tensor& distance) {
    const at::Tensor better = rows_of(fooled.logical_and(distance.lt(distance_.index_select(0, places))));
    const at::Tensor to = places.index_select(0, better);
    images_.index_copy_(0, to, x.index_select(0, better));
    distance_.index_copy_(0, to, distance.index_select(0, better));
  }

  const Victim& victim_;
  const Threat& threat_;
  const Boundary& boundary_;
  const Attacked& all_;
  at::Tensor images_, distance_;  // the best so far
};

class Fab : public Attack {
 public:
  using Attack::Attack;

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override {
    return follow_boundary(victim, attacked, threat,
                           {steps(kFabSteps), restarts(), settings_.leave, settings_.seed, "fab"});
  }
};

NASCENT_REGISTER(
    Attack, "fab", "follows the border of the linearised victim towards the clean image (Croce and Hein 2020)",
    [](const AttackSettings& settings) { return std::make_unique<Fab>(settings); },
    AttackFacts{.takes_target = true, .minimal = true, .eps_linf = 0, .eps_l2 = 0, .reads = {"steps", "restarts"}});

}  // namespace

Outcome follow_boundary(const Victim& victim, const Attacked& attacked, const Threat& threat,
                        const Boundary& boundary) {
  Follower follower(victim, attacked, threat, boundary);
  for (int restart = 0; restart < boundary.restarts; ++restart) follower.run(restart);
  return follower.outcome();
}

}  // namespace nascent
