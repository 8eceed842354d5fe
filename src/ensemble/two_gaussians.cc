#include "nascent/ensemble/two_gaussians.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace nascent {
namespace {

constexpr std::array<std::array<double, 2>, 2> kMeans = {{{-1, 0}, {0, 1}}};

// Of the two Gaussians, but for a constant.
std::array<double, 2> parts(double x, double y) {
  std::array<double, 2> values{};
  for (size_t m = 0; m < 2; ++m) {
    const double dx = x - kMeans[m][0], dy = y - kMeans[m][1];
    values[m] = std::exp(-dx * dx / 0.5 - dy * dy);
  }
  return values;
}

}  // namespace

double two_gaussians_density(double x, double y) {
  const auto [a, b] = parts(x, y);
  return a + b;
}

void two_gaussians_gradient(std::span<const double> x, std::span<double> gradient) {
  const auto values = parts(x[0], x[1]);
  gradient[0] = gradient[1] = 0;
  for (size_t m = 0; m < 2; ++m) {
    const double share = values[m] / (values[0] + values[1]);
    gradient[0] -= share * (x[0] - kMeans[m][0]) / 0.25;
    gradient[1] -= share * (x[1] - kMeans[m][1]) / 0.5;
  }
}

ParticleSpread spread_on_two_gaussians(const SvgdOptions& options, int count, int seeds) {
  ParticleSpread all;
  all.delta = options.delta;
  const double n = count, share = 1.0 / seeds;
  for (int seed = 1; seed <= seeds; ++seed) {
    Particles particles = gaussian_particles(count, 2, static_cast<uint64_t>(seed));
    svgd(particles, two_gaussians_gradient, options);
    double x = 0, y = 0;
    for (const Particle& p : particles) {
      x += p[0] / n;
      y += p[1] / n;
    }
    for (const Particle& p : particles) {
      all.xx += share * (p[0] - x) * (p[0] - x) / n;
      all.xy += share * (p[0] - x) * (p[1] - y) / n;
      all.yy += share * (p[1] - y) * (p[1] - y) / n;
    }
    all.mean_x += share * x;
    all.mean_y += share * y;
    all.distance += share * mean_pair_distance(particles);
    if (seed == 1) all.particles = std::move(particles);
  }
  return all;
}

std::string draw_spreads(const std::vector<ParticleSpread>& spreads) {
  constexpr double kLow = -3, kHigh = 3;
  constexpr int kCells = 48, kSide = 192, kGap = 12, kTop = 24;
  const auto place = [&](double value) { return (value - kLow) / (kHigh - kLow) * kSide; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      (kSide + kGap) * static_cast<int>(spreads.size()) + kGap, kSide + kTop + kGap);
  for (size_t s = 0; s < spreads.size(); ++s) {
    const int left = kGap + (kSide + kGap) * static_cast<int>(s);
    svg += fmt::format("<text x=\"{}\" y=\"16\" text-anchor=\"middle\">delta = {:g}</text>\n", left + kSide / 2,
                       spreads[s].delta);
    for (int row = 0; row < kCells; ++row) {
      for (int column = 0; column < kCells; ++column) {
        const double x = kLow + (column + 0.5) * (kHigh - kLow) / kCells,
                     y = kHigh - (row + 0.5) * (kHigh - kLow) / kCells;
        // In steps, so that their borders are contours.
        const double shade = std::floor(6 * two_gaussians_density(x, y) / 1.1) / 6;
        if (shade <= 0) continue;
        constexpr double size = static_cast<double>(kSide) / kCells;
        svg += fmt::format(
            "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill=\"#2f6bd8\" "
            "fill-opacity=\"{:.2f}\"/>",
            left + column * size, kTop + row * size, size, size, 0.75 * shade);
      }
    }
    svg += fmt::format("\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#9aa4b2\"/>\n",
                       left, kTop, kSide, kSide);
    for (const Particle& p : spreads[s].particles) {
      svg += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#e0701a\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>",
          left + place(p[0]), kTop + kSide - place(p[1]));
    }
    svg += "\n";
  }
  return svg + "</svg>\n";
}

}  // namespace nascent
