#include "nascent/ensemble/diversity.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/search/black_box/gaussian_process.h"

namespace nascent {
namespace {

constexpr int kEvaluations = 10;
constexpr int kPlaces = 301;  // that expected improvement is compared at

double number(const std::string& how) {
  double value = 0;
  const auto [end, code] = std::from_chars(how.data(), how.data() + how.size(), value);
  if (code != std::errc() || end != how.data() + how.size() || !std::isfinite(value))
    fail("--delta {}: expected a number (0 is plain SVGD, more is more diverse), grid or bo.", how);
  return value;
}

double delta_at(double share) { return kLeastDelta + share * (kMostDelta - kLeastDelta); }
double share_of(double delta) { return (delta - kLeastDelta) / (kMostDelta - kLeastDelta); }

double most_promising(const std::vector<DeltaTrial>& trials, RandomStream& random) {
  std::vector<Vector> points;
  Vector values;
  double best = -INFINITY;
  for (const DeltaTrial& trial : trials) {
    points.push_back({share_of(trial.delta)});
    values.push_back(-trial.loss);  // the process looks for the largest
    best = std::max(best, values.back());
  }
  const auto process = GaussianProcess::fitted(points, values, random);
  double where = 0, most = -1;
  for (int i = 0; i < kPlaces; ++i) {
    const double share = static_cast<double>(i) / (kPlaces - 1);
    const double gain = expected_improvement(process.predict({share}), best);
    if (gain > most) {
      most = gain;
      where = share;
    }
  }
  return delta_at(where);
}

}  // namespace

void check_delta(const std::string& how) {
  if (how != "grid" && how != "bo") number(how);
}

std::vector<DeltaTrial> search_delta(const std::string& how, const std::function<double(double)>& loss, uint64_t seed) {
  std::vector<DeltaTrial> trials;
  const auto judge = [&](double delta) { trials.push_back({delta, loss(delta)}); };
  if (how == "grid") {
    for (double delta = kLeastDelta; delta <= kMostDelta + 1e-9; delta += 0.5) judge(delta);
  } else if (how == "bo") {
    for (const double share : {0.0, 0.5, 1.0}) judge(delta_at(share));
    for (int i = static_cast<int>(trials.size()); i < kEvaluations; ++i) {
      RandomStream random(seed, "delta", {static_cast<uint64_t>(i)});
      judge(most_promising(trials, random));
    }
  } else {
    judge(number(how));
  }
  return trials;
}

}  // namespace nascent
