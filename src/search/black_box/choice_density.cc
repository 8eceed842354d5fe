#include "nascent/search/black_box/choice_density.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace nascent {

ChoiceDensity::ChoiceDensity(std::vector<Choices> points, std::vector<int> sizes, double min_bandwidth)
    : points_(std::move(points)), sizes_(std::move(sizes)), min_bandwidth_(min_bandwidth) {
  assert(!points_.empty());
}

double ChoiceDensity::bandwidth(size_t choice, double factor) const {
  const double uniform = (sizes_[choice] - 1.0) / sizes_[choice];
  // The usual rate of d dimensions, from the uniform distribution for a single point.
  const double shrunk =
      uniform * std::pow(static_cast<double>(points_.size()), -1.0 / (4.0 + static_cast<double>(sizes_.size())));
  return std::min(factor * std::max(shrunk, min_bandwidth_), uniform);
}

double ChoiceDensity::density(const Choices& choices) const {
  std::vector<double> same(sizes_.size()), other(sizes_.size());
  for (size_t c = 0; c < sizes_.size(); ++c) {
    same[c] = 1 - bandwidth(c);
    other[c] = bandwidth(c) / (sizes_[c] - 1);
  }
  double sum = 0;
  for (const Choices& point : points_) {
    double product = 1;
    for (size_t c = 0; c < sizes_.size(); ++c) product *= point[c] == choices[c] ? same[c] : other[c];
    sum += product;
  }
  return sum / static_cast<double>(points_.size());
}

Choices ChoiceDensity::sample(RandomStream& random, double factor) const {
  Choices drawn = points_[random.below(static_cast<int64_t>(points_.size()))];
  for (size_t c = 0; c < sizes_.size(); ++c) {
    if (random.uniform() >= bandwidth(c, factor)) continue;
    drawn[c] = static_cast<int>((drawn[c] + 1 + random.below(sizes_[c] - 1)) % sizes_[c]);
  }
  return drawn;
}

}  // namespace nascent
