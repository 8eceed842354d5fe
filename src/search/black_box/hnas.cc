#include "nascent/search/black_box/hnas.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"

namespace nascent {

namespace {

constexpr double kDecades = 4;  // of mu, to either side of the typical one
constexpr int kCandidates = 512, kNearBest = 128, kMostDraws = 2000;

double quantile(const Vector& ascending, double share) {
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (place - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

bool is_usable(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

Hnas::Hnas(const std::vector<PoolEntry>& pool, HnasOptions options)
    : options_(std::move(options)), random_(options_.seed, "hnas") {
  Vector ratios;
  for (size_t place = 0; place < pool.size(); ++place) {
    const auto& [metric, kappa] = pool[place];
    if (!is_usable(metric) || !is_usable(kappa) || !is_usable(metric * metric) || !is_usable(kappa / metric)) continue;
    usable_.push_back({place, metric * metric, kappa / metric});
    squares_.push_back(metric * metric);
    ratios.push_back(kappa / metric);
  }
  if (usable_.empty()) {
    fail("HNAS: of {} architectures none has a positive, finite metric and condition number.", pool.size());
  }
  std::sort(squares_.begin(), squares_.end());
  std::sort(ratios.begin(), ratios.end());
  const double spread = quantile(squares_, 0.75) - quantile(squares_, 0.25);
  const double width = spread > 0 ? spread : squares_.back();
  typical_mu_ = quantile(ratios, 0.5) / (width * width);
}

// nu runs through the range of M^2, evenly in the number of architectures, as the metric spans orders of magnitude.
std::pair<double, double> Hnas::parameters_at(const Vector& point) const {
  return {typical_mu_ * std::pow(10, kDecades * (2 * point[0] - 1)), quantile(squares_, point[1])};
}

size_t Hnas::candidate(double mu, double nu) const {
  const Usable* best = nullptr;
  double least = 0;
  for (const Usable& entry : usable_) {
    const double off = entry.square - nu;
    const double objective = entry.ratio + mu * off * off;
    if (best != nullptr && objective >= least) continue;
    best = &entry;
    least = objective;
  }
  return best->place;
}

std::optional<size_t> Hnas::unknown_candidate(const Vector& point) const {
  const auto [mu, nu] = parameters_at(point);
  const size_t place = candidate(mu, nu);
  return known_.count(place) == 0 ? std::optional(place) : std::nullopt;
}

// Random points, some of them around the best one so far, those first that promise most.
std::vector<Vector> Hnas::points_by_acquisition() {
  // Later the likelihood changes little from step to step, and fitting anew costs most of the time.
  const bool thorough = points_.size() < 20 || points_.size() % 10 == 0;
  const GaussianProcess process =
      GaussianProcess::fitted(points_, accuracies_, random_, thorough ? GpParameters() : parameters_, thorough ? 3 : 0);
  parameters_ = process.parameters();
  const auto top = std::max_element(accuracies_.begin(), accuracies_.end());
  const Vector& best = points_[top - accuracies_.begin()];
  std::vector<std::pair<double, Vector>> rated;
  for (int i = 0; i < kCandidates + kNearBest; ++i) {
    Vector point = {random_.uniform(), random_.uniform()};
    if (i >= kCandidates) {
      for (size_t d = 0; d < point.size(); ++d) point[d] = std::clamp(best[d] + 0.05 * random_.normal(), 0.0, 1.0);
    }
    const Prediction prediction = process.predict(point);
    const double promise = options_.acquisition == "ucb" ? upper_confidence_bound(prediction, options_.ucb_width)
                                                         : expected_improvement(prediction, *top);
    rated.emplace_back(promise, std::move(point));
  }
  std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Vector> points;
  for (auto& [promise, point] : rated) points.push_back(std::move(point));
  return points;
}

std::optional<size_t> Hnas::propose() {
  const auto take = [&](const Vector& point) {
    const auto place = unknown_candidate(point);
    if (place) last_point_ = point, last_ = *place;
    return place;
  };
  if (static_cast<int>(points_.size()) >= options_.initial) {
    for (const Vector& point : points_by_acquisition()) {
      if (const auto place = take(point)) return place;
    }
  }
  for (int i = 0; i < kMostDraws; ++i) {
    if (const auto place = take({random_.uniform(), random_.uniform()})) return place;
  }
  return std::nullopt;
}

void Hnas::tell(double accuracy) {
  assert(!last_point_.empty());
  known_[last_] = accuracy;
  points_.push_back(last_point_);
  accuracies_.push_back(accuracy);
}

size_t Hnas::best() const {
  assert(!known_.empty());
  return std::max_element(known_.begin(), known_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace nascent
