#include "nascent/attack/apgd.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/attack/random_start.h"

namespace nascent {
namespace {

constexpr double kMomentum = 0.75;   // share of the new step in a step
constexpr double kImproving = 0.75;  // share of steps that must raise the loss

// What an ascent knows of each image that is left.
struct Climb {
  at::Tensor x, before, gradient, loss;
  at::Tensor best, best_gradient, best_loss;
  at::Tensor length;           // of a step
  at::Tensor rises;            // since the last checkpoint
  at::Tensor checked;          // the best loss at the last checkpoint
  at::Tensor was_halved;       // at the last checkpoint
  at::Tensor fooled, fooling;  // of images that stay: whether any point fooled, and the last that did

  void select(const at::Tensor& rows) {
    for (at::Tensor* tensor : {&x, &before, &gradient, &loss, &best, &best_gradient, &best_loss, &length, &rises,
                               &checked, &was_halved, &fooled, &fooling}) {
      *tensor = tensor->index_select(0, rows);
    }
  }
};

Climb begin(const at::Tensor& start, const Victim::Gradient& slope, double eps) {
  const at::Tensor& loss = slope.loss;
  return {start,
          start,
          slope.images,
          loss,
          start,
          slope.images,
          loss,
          at::full_like(loss, 2 * eps),
          at::zeros_like(loss),
          loss,
          at::ones_like(loss, at::kBool),  // the first step is not judged by the start alone
          at::zeros_like(loss, at::kBool),
          start};
}

void move(Climb& climb, const Threat& threat, const at::Tensor& clean, bool first) {
  const at::Tensor step = over_pixels(climb.length) * threat.direction(climb.gradient);
  at::Tensor next = threat.project(climb.x + step, clean);
  if (!first) {
    const at::Tensor carried = kMomentum * (next - climb.x) + (1 - kMomentum) * (climb.x - climb.before);
    next = threat.project(climb.x + carried, clean);
  }
  climb.before = climb.x;
  climb.x = next;
}

void arrive(Climb& climb, const at::Tensor& loss, const at::Tensor& gradient) {
  climb.rises += loss.gt(climb.loss).to(climb.rises.scalar_type());
  climb.loss = loss;
  climb.gradient = gradient;
  const at::Tensor better = loss.gt(climb.best_loss);
  climb.best_loss = at::where(better, loss, climb.best_loss);
  climb.best = at::where(over_pixels(better), climb.x, climb.best);
  climb.best_gradient = at::where(over_pixels(better), gradient, climb.best_gradient);
}

// Halves the steps of images that did not get on, and takes them back to their best.
void judge(Climb& climb, int window) {
  const at::Tensor too_few = climb.rises.lt(kImproving * window);
  const at::Tensor no_better = climb.was_halved.logical_not().logical_and(climb.best_loss.le(climb.checked));
  const at::Tensor halve = too_few.logical_or(no_better), pixels = over_pixels(halve);
  climb.length = at::where(halve, climb.length / 2, climb.length);
  climb.x = at::where(pixels, climb.best, climb.x);
  climb.gradient = at::where(pixels, climb.best_gradient, climb.gradient);
  climb.loss = at::where(halve, climb.best_loss, climb.loss);
  climb.was_halved = halve;
  climb.checked = climb.best_loss;
  climb.rises = at::zeros_like(climb.rises);
}

}  // namespace

std::vector<int> apgd_checkpoints(int steps) {
  // Sums of hundredths are not exact; 57.00000000000001 is 57.
  const auto at = [steps](double share) { return static_cast<int>(std::ceil(share * steps - 1e-9)); };
  std::vector<int> checkpoints;
  double before = 0;
  for (double now = 0.22; at(now) < steps;) {
    checkpoints.push_back(at(now));
    const double next = now + std::max(now - before - 0.03, 0.06);
    before = now;
    now = next;
  }
  return checkpoints;
}

void ascend(const Victim& victim, const Threat& threat, const Ascent& ascent, at::Tensor start, Remaining& left) {
  const auto slope_at = [&](const at::Tensor& x) {
    return victim.gradient(x, ascent.objective(left.now()), ascent.passes);
  };
  const Victim::Gradient first = slope_at(start);
  Climb climb = begin(start, first, threat.eps);
  // False where nobody is left.
  const auto go_on = [&](const at::Tensor& logits) {
    const at::Tensor fooled = left.now().fooled(logits);
    climb.fooling = at::where(over_pixels(fooled), climb.x, climb.fooling);
    climb.fooled = climb.fooled.logical_or(fooled);
    if (const auto rows = left.leave(climb.x, fooled)) climb.select(*rows);
    return !left.empty();
  };
  if (!go_on(first.logits)) return;
  const std::vector<int> checkpoints = apgd_checkpoints(ascent.steps);
  auto check = checkpoints.begin();
  int checked = 0;
  for (int step = 1; step < ascent.steps; ++step) {
    move(climb, threat, left.now().images, step == 1);
    const Victim::Gradient slope = slope_at(climb.x);
    arrive(climb, slope.loss, slope.images);
    if (ascent.watch) ascent.watch(climb.best_loss);
    if (!go_on(slope.logits)) return;
    if (check == checkpoints.end() || step != *check) continue;
    judge(climb, *check - checked);
    checked = *check++;
  }
  // Nobody asks for the gradient of where the last step leads.
  move(climb, threat, left.now().images, ascent.steps == 1);
  const at::Tensor logits = victim.logits(climb.x);
  arrive(climb, ascent.objective(left.now())(logits), climb.gradient);
  if (ascent.watch) ascent.watch(climb.best_loss);
  // A loss can be high without a wrong answer; what fooled once is worth more.
  if (go_on(logits)) left.finish(at::where(over_pixels(climb.fooled), climb.fooling, climb.best), climb.fooled);
}

Outcome apgd(const Victim& victim, const Attacked& attacked, const Threat& threat, const Ascent& ascent, int restarts,
             const AttackSettings& settings, const std::string& name) {
  Remaining left(attacked, settings.leave);
  for (int restart = 0; restart < restarts && !left.empty(); ++restart) {
    ascend(victim, threat, ascent, random_start(left.now(), threat, Spread::surface, settings.seed, name, restart),
           left);
  }
  return left.outcome();
}

}  // namespace nascent
