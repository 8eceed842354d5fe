#include "nascent/ensemble/member_curve.h"

#include <algorithm>
#include <set>

#include "nascent/core/random.h"
#include "nascent/space/choice_code.h"

namespace nascent {
namespace {

std::vector<std::vector<int>> subsets(int n, int k, uint64_t seed, int64_t most) {
  std::vector<std::vector<int>> result;
  if (binomial(n, k) <= static_cast<double>(most)) {
    for (int64_t rank = 0; rank < static_cast<int64_t>(binomial(n, k)); ++rank)
      result.push_back(unrank_choice(n, k, rank));
    return result;
  }
  std::set<std::vector<int>> drawn;
  for (uint64_t i = 0; static_cast<int64_t>(drawn.size()) < most; ++i) {
    RandomStream random(seed, "member curve", {static_cast<uint64_t>(k), i});
    const auto order = random.permutation(n);
    std::vector<int> subset(order.begin(), order.begin() + k);
    std::sort(subset.begin(), subset.end());
    if (drawn.insert(subset).second) result.push_back(std::move(subset));
  }
  return result;
}

}  // namespace

std::vector<CurvePoint> member_curve(const Members& members, const Labels& labels, Combination how, uint64_t seed,
                                     int64_t most_subsets) {
  check_members(members, labels);
  std::vector<CurvePoint> curve;
  const int n = static_cast<int>(members.size());
  for (int k = 1; k <= n; ++k) {
    const auto chosen = subsets(n, k, seed, most_subsets);
    std::vector<double> errors, losses;
    for (const auto& subset : chosen) {
      Members few;
      for (const int member : subset) few.push_back(members[static_cast<size_t>(member)]);
      const Probabilities whole = combine(few, how);
      errors.push_back(error_of(whole, labels));
      losses.push_back(negative_log_likelihood(whole, labels));
    }
    const auto count = static_cast<int64_t>(chosen.size());
    curve.push_back({k, count, binomial(n, k) <= static_cast<double>(most_subsets), mean_and_error(errors),
                     mean_and_error(losses)});
  }
  return curve;
}

}  // namespace nascent
