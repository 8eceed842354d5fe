#include "nascent/attack/target.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nascent/attack/objective.h"
#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"

namespace nascent {

TargetChoice parse_target(const std::string& text, const std::vector<std::string>& class_names) {
  using Kind = TargetChoice::Kind;
  if (text == "none") return {};
  if (text == "least-likely") return {Kind::least_likely, 0, text};
  if (text == "runner-up") return {Kind::runner_up, 0, text};
  if (text == "random") return {Kind::random, 0, text};
  const auto named = std::find(class_names.begin(), class_names.end(), text);
  if (named != class_names.end()) return {Kind::fixed, named - class_names.begin(), text};
  int64_t number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  if (whole && number >= 0 && number < static_cast<int64_t>(class_names.size()))
    return {Kind::fixed, number, class_names[static_cast<size_t>(number)]};
  fail("--target '{}' is neither none, least-likely, runner-up nor random, nor one of the {} classes: {}.", text,
       class_names.size(), join(class_names, ", "));
}

namespace {

at::Tensor random_classes(const Attacked& attacked, int64_t classes, uint64_t seed) {
  at::Tensor aims = at::empty({attacked.size()}, at::kLong);
  const at::Tensor labels = attacked.labels.contiguous();
  for (int64_t n = 0; n < attacked.size(); ++n) {
    RandomStream random(seed, "attack target", {static_cast<uint64_t>(attacked.indices[n])});
    const int64_t other = random.below(classes - 1);
    aims.data_ptr<int64_t>()[n] = other + (other >= labels.data_ptr<int64_t>()[n] ? 1 : 0);
  }
  return aims;
}

}  // namespace

Attacked with_aims(const Attacked& attacked, const TargetChoice& choice, const Victim& victim, uint64_t seed) {
  using Kind = TargetChoice::Kind;
  if (choice.kind == Kind::none) return attacked;
  at::Tensor aims;
  if (choice.kind == Kind::fixed) aims = at::full_like(attacked.labels, choice.fixed_class);
  if (choice.kind == Kind::random) aims = random_classes(attacked, victim.classes(), seed);
  if (!aims.defined()) {
    const at::Tensor logits = victim.logits(attacked.images), own = attacked.labels.unsqueeze(1);
    aims = choice.kind == Kind::least_likely ? logits.scatter(1, own, INFINITY).argmin(1)
                                             : logits.scatter(1, own, -INFINITY).argmax(1);
  }
  Attacked aimed = attacked.towards(aims);
  aimed.targeted = true;
  return aimed;
}

Attacked without_target(const Attacked& attacked, const TargetChoice& choice) {
  if (choice.kind != TargetChoice::Kind::fixed) return attacked;
  return attacked.select(rows_of(attacked.labels.ne(choice.fixed_class)));
}

}  // namespace nascent
