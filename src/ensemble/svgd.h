// SVGD with regularised diversity (thesis, Alg. 5.3): particles climb a density and keep away from each other.
//
//   Particles particles = gaussian_particles(15, 2, seed);
//   svgd(particles, gradient_of_log_density, {.delta = 0.5});
//
// With an RBF kernel the last two terms of the update are one repulsion times 1 + delta: -1 has none, below it
// attracts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nascent {

using Particle = std::vector<double>;
using Particles = std::vector<Particle>;
// Writes the gradient of the log-density at `x`.
using LogDensityGradient = std::function<void(std::span<const double> x, std::span<double> gradient)>;

struct SvgdOptions {
  double delta = 0;
  int iterations = 1000;
  double step = 0.1;
  double momentum = 0.9;
};

Particles gaussian_particles(int count, size_t dimensions, uint64_t seed, uint64_t round = 0);

// h of the kernel exp(-|x - x'|^2 / h): the squared median distance over ln n, 1 where that is not above 0.
double median_bandwidth(const Particles& particles);

// The directions phi of all particles (B.10).
Particles svgd_directions(const Particles& particles, const LogDensityGradient& gradient, double delta);

void svgd(Particles& particles, const LogDensityGradient& gradient, const SvgdOptions& options);

// Mean distance over pairs; 0 for one particle.
double mean_pair_distance(const Particles& particles);

}  // namespace nascent
