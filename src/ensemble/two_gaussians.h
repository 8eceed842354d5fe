// The target of the thesis's Fig. 5.2, on which SVGD-RD can be watched: N((-1, 0), S) + N((0, 1), S), S = diag(0.25,
// 0.5).
#pragma once

#include <filesystem>
#include <vector>

#include "nascent/ensemble/svgd.h"

namespace nascent {

double two_gaussians_density(double x, double y);
void two_gaussians_gradient(std::span<const double> x, std::span<double> gradient);

struct ParticleSpread {
  double delta = 0;
  double mean_x = 0, mean_y = 0;
  double distance = 0;            // mean over pairs
  double xx = 0, xy = 0, yy = 0;  // covariance
  Particles particles{};          // of the first seed
};

// `count` particles for each of `seeds` seeds; figures are means over them.
ParticleSpread spread_on_two_gaussians(const SvgdOptions& options, int count, int seeds);

// Particles over the density, one panel per spread: FILE.svg, a PNG of each panel, and FILE.csv with the places.
void write_spreads(const std::filesystem::path& file, const std::vector<ParticleSpread>& spreads);

}  // namespace nascent
