#include "nascent/ensemble/svgd.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/random.h"

namespace nascent {
namespace {

double squared_distance(const Particle& a, const Particle& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

std::vector<double> pair_distances(const Particles& particles) {
  std::vector<double> distances;
  for (size_t i = 0; i < particles.size(); ++i) {
    for (size_t j = 0; j < i; ++j) distances.push_back(std::sqrt(squared_distance(particles[i], particles[j])));
  }
  return distances;
}

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::sort(numbers.begin(), numbers.end());
  const size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

}  // namespace

Particles gaussian_particles(int count, size_t dimensions, uint64_t seed, uint64_t round) {
  Particles particles;
  for (int i = 0; i < count; ++i) {
    RandomStream random(seed, "particle", {round, static_cast<uint64_t>(i)});
    Particle particle(dimensions);
    for (double& x : particle) x = random.normal();
    particles.push_back(std::move(particle));
  }
  return particles;
}

double median_bandwidth(const Particles& particles) {
  const double middle = median(pair_distances(particles));
  const double bandwidth = middle * middle / std::log(static_cast<double>(particles.size()));
  return std::isfinite(bandwidth) && bandwidth > 0 ? bandwidth : 1;
}

Particles svgd_directions(const Particles& particles, const LogDensityGradient& gradient, double delta) {
  const double bandwidth = median_bandwidth(particles);
  const size_t n = particles.size(), dimensions = particles[0].size();
  Particles climbs(n, Particle(dimensions)), directions(n, Particle(dimensions, 0.0));
  for (size_t j = 0; j < n; ++j) gradient(particles[j], climbs[j]);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      const double kernel = std::exp(-squared_distance(particles[j], particles[i]) / bandwidth);
      for (size_t d = 0; d < dimensions; ++d) {
        const double by_other = -2 * (particles[j][d] - particles[i][d]) / bandwidth * kernel;  // grad of k in x_j
        const double by_self = -by_other;                                                       // and in x_i
        directions[i][d] += kernel * climbs[j][d] + by_other - delta * by_self;
      }
    }
    for (double& x : directions[i]) x /= static_cast<double>(n);
  }
  return directions;
}

void svgd(Particles& particles, const LogDensityGradient& gradient, const SvgdOptions& options) {
  Particles velocities(particles.size(), Particle(particles[0].size(), 0.0));
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    const Particles directions = svgd_directions(particles, gradient, options.delta);
    for (size_t i = 0; i < particles.size(); ++i) {
      for (size_t d = 0; d < particles[i].size(); ++d) {
        velocities[i][d] = options.momentum * velocities[i][d] + directions[i][d];
        particles[i][d] += options.step * velocities[i][d];
      }
    }
  }
}

double mean_pair_distance(const Particles& particles) {
  const auto distances = pair_distances(particles);
  double sum = 0;
  for (const double distance : distances) sum += distance;
  return distances.empty() ? 0 : sum / static_cast<double>(distances.size());
}

}  // namespace nascent
