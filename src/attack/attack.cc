#include "nascent/attack/attack.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace nascent {

void AttackSettings::declare(OptionTable& table) {
  auto section = table.section("attack", "Which attack, how strong, and against whom.");
  section.add("steps", steps, "steps of an iterative attack; 0: as published").at_least(0);
  section.add("step", step, "pgd, mi-fgsm: step size as a fraction of eps; 0: as published").at_least(0);
  section.add("restarts", restarts, "random restarts; 0: as published").at_least(0);
  section.add("passes", passes, "apgd: number of gradients to average, for models with random outputs").range(1, 10000);
  section
      .add("searches", searches,
           "cw: search steps for the constant, which starts at 0.001, is multiplied by 10 until the attack succeeds, "
           "then bisected")
      .range(1, 100);
  section.add("confidence", confidence, "cw: margin by which the wrong logit must lead").at_least(0);
  section.add("rate", rate, "cw: learning rate of Adam").at_least(0);
  section.add("queries", queries, "square: queries per image").range(1, 100000000);
  section.add("window", window, "square: initial fraction of the pixels to change").range(1e-6, 1);
  section.add("target-classes", classes, "apgd-t, fab-t: number of target classes, most likely first").range(1, 100000);
}

bool AttackFacts::reads_option(const std::string& name) const {
  if (std::find(reads.begin(), reads.end(), name) != reads.end()) return true;
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return Attack::Registry::instance().at(part).facts.reads_option(name);
  });
}

Outcome attack_batch(const Attack& attack, const AttackFacts& facts, const AttackSettings& settings,
                     const Victim& victim, const Attacked& attacked, const Threat& threat) {
  Outcome outcome{attacked.images.clone(), attacked.fooled(victim.logits(attacked.images))};
  if (!facts.parts.empty()) outcome.parts = at::full({attacked.size()}, -1, at::kLong);
  const bool all = !settings.leave && !facts.minimal;
  const at::Tensor rows = all ? at::arange(attacked.size(), at::kLong) : rows_of(outcome.fooled.logical_not());
  if (rows.numel() == 0) return outcome;
  const Attacked some = attacked.select(rows);
  const at::Tensor wrong = outcome.fooled.index_select(0, rows);
  Outcome found = attack.run(victim, some, threat);
  if (facts.minimal && std::isfinite(threat.eps)) {
    const at::Tensor near = threat.distance(found.images, some.images).le(threat.eps * (1 + 1e-6));
    found.images = at::where(over_pixels(near), found.images, some.images);
    found.fooled = found.fooled.logical_and(near);
  }
  // Nobody moves an image from a wrong answer to a right one, and no part can claim one that was wrong before.
  found.images = at::where(over_pixels(wrong.logical_and(found.fooled.logical_not())), some.images, found.images);
  outcome.images.index_copy_(0, rows, found.images);
  outcome.fooled.index_copy_(0, rows, found.fooled.logical_or(wrong));
  if (found.parts.defined()) outcome.parts.index_copy_(0, rows, found.parts.masked_fill(wrong, -1));
  return outcome;
}

}  // namespace nascent
