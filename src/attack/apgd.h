// Auto-PGD (Croce and Hein 2020): ascent with momentum whose step halves where it no longer gets on, and which then
// goes on from the best point so far. Nothing in it has to be tuned.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"

namespace nascent {

constexpr int kApgdSteps = 100;

struct Ascent {
  int steps = kApgdSteps;
  int passes = 1;
  Objective objective = cross_entropy;
  std::function<void(const at::Tensor& best)> watch{};  // told the best loss of every image after each step
};

// From `start`; images leave `left` as they are fooled, or end at their best.
void ascend(const Victim& victim, const Threat& threat, const Ascent& ascent, at::Tensor start, Remaining& left);

// Steps after which the progress is judged: at 0.22 of all, then at distances that shrink by 0.03 down to 0.06.
std::vector<int> apgd_checkpoints(int steps);

// One attack of `restarts` such ascents from random points on the ball's border, keyed by `name`.
Outcome apgd(const Victim& victim, const Attacked& attacked, const Threat& threat, const Ascent& ascent, int restarts,
             const AttackSettings& settings, const std::string& name);

}  // namespace nascent
