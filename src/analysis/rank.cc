#include "nascent/analysis/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/core/correlation.h"
#include "nascent/core/error.h"
#include "nascent/core/random.h"

namespace nascent {
namespace {

std::vector<size_t> best_of(std::span<const double> numbers, size_t count) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return numbers[a] > numbers[b]; });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

double top_overlap(std::span<const double> a, std::span<const double> b, size_t count) {
  const std::vector<size_t> first = best_of(a, count), second = best_of(b, count);
  std::vector<size_t> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(first.size());
}

RankAgreement rank_agreement(const std::string& name, std::span<const double> estimates, std::span<const double> truth,
                             const RankOptions& options) {
  std::vector<double> a, b;
  for (size_t i = 0; i < estimates.size(); ++i) {
    if (!std::isfinite(estimates[i]) || !std::isfinite(truth[i])) continue;
    a.push_back(estimates[i]);
    b.push_back(truth[i]);
  }
  if (a.size() < 3)
    fail("{}: {} architecture(s) have both an estimate and a truth; at least 3 are needed.", name, a.size());
  const size_t count =
      std::max<size_t>(1, static_cast<size_t>(std::lround(options.share * static_cast<double>(a.size()))));
  RankAgreement found{.estimate = name, .architectures = static_cast<int64_t>(a.size())};
  found.spearman = spearman(a, b);
  found.pearson = pearson(a, b);
  found.kendall = kendall(a, b);
  found.agreement = top_overlap(a, b, count);
  found.agreement_chance = static_cast<double>(count) / static_cast<double>(a.size());
  double as_far[4] = {1, 1, 1, 1};
  for (int turn = 0; turn < options.permutations; ++turn) {
    RandomStream random(options.seed, "rank permutation", {static_cast<uint64_t>(turn)});
    const std::vector<int64_t> order = random.permutation(static_cast<int64_t>(a.size()));
    std::vector<double> shuffled(a.size());
    for (size_t i = 0; i < a.size(); ++i) shuffled[i] = a[order[i]];
    as_far[0] += std::abs(spearman(shuffled, b)) >= std::abs(found.spearman) - 1e-12 ? 1 : 0;
    as_far[1] += std::abs(pearson(shuffled, b)) >= std::abs(found.pearson) - 1e-12 ? 1 : 0;
    as_far[2] += std::abs(kendall(shuffled, b)) >= std::abs(found.kendall) - 1e-12 ? 1 : 0;
    as_far[3] += top_overlap(shuffled, b, count) >= found.agreement - 1e-12 ? 1 : 0;
  }
  // What is undefined, as the correlation with a constant is, has no p-value either.
  const auto p_of = [&](double statistic, double count) {
    return std::isfinite(statistic) ? count / (options.permutations + 1) : NAN;
  };
  found.spearman_p = p_of(found.spearman, as_far[0]);
  found.pearson_p = p_of(found.pearson, as_far[1]);
  found.kendall_p = p_of(found.kendall, as_far[2]);
  found.agreement_p = p_of(found.agreement, as_far[3]);
  return found;
}

Json RankAgreement::to_json() const {
  return {{"estimate", estimate},         {"architectures", architectures},
          {"spearman", number(spearman)}, {"spearman_p", number(spearman_p)},
          {"pearson", number(pearson)},   {"pearson_p", number(pearson_p)},
          {"kendall", number(kendall)},   {"kendall_p", number(kendall_p)},
          {"agreement", agreement},       {"agreement_chance", agreement_chance},
          {"agreement_p", agreement_p}};
}

}  // namespace nascent
