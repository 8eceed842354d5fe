#include "nascent/ensemble/two_gaussians.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "nascent/core/files.h"
#include "nascent/run/picture_files.h"

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
  const double n = count, free = std::max(1, count - 1), share = 1.0 / seeds;
  for (int seed = 1; seed <= seeds; ++seed) {
    Particles particles = gaussian_particles(count, 2, static_cast<uint64_t>(seed));
    svgd(particles, two_gaussians_gradient, options);
    double x = 0, y = 0;
    for (const Particle& p : particles) {
      x += p[0] / n;
      y += p[1] / n;
    }
    for (const Particle& p : particles) {
      all.xx += share * (p[0] - x) * (p[0] - x) / free;
      all.xy += share * (p[0] - x) * (p[1] - y) / free;
      all.yy += share * (p[1] - y) * (p[1] - y) / free;
    }
    all.mean_x += share * x;
    all.mean_y += share * y;
    all.distance += share * mean_pair_distance(particles);
    if (seed == 1) all.particles = std::move(particles);
  }
  return all;
}

namespace {

constexpr double kLow = -3, kHigh = 3;  // what is drawn of the plane
constexpr int kPlaces = 61;             // of the grid, along each side

PicturePanel panel_of(const ParticleSpread& spread) {
  GridPlot plot{.kind = GridPlot::Kind::contour, .levels = 8, .width = 260, .height = 240};
  for (int i = 0; i < kPlaces; ++i) plot.x.push_back(kLow + i * (kHigh - kLow) / (kPlaces - 1));
  plot.y = plot.x;
  for (const double y : plot.y) {
    for (const double x : plot.x) plot.values.push_back(two_gaussians_density(x, y));
  }
  for (const Particle& p : spread.particles) plot.points.emplace_back(p[0], p[1]);
  return {fmt::format("δ = {:g}", spread.delta), "", "", script_of(plot)};
}

}  // namespace

void write_spreads(const std::filesystem::path& file, const std::vector<ParticleSpread>& spreads) {
  std::vector<PicturePanel> panels;
  std::string csv = "delta,particle,x,y\n";
  for (const ParticleSpread& spread : spreads) {
    panels.push_back(panel_of(spread));
    for (size_t i = 0; i < spread.particles.size(); ++i)
      csv += fmt::format("{:g},{},{},{}\n", spread.delta, i + 1, spread.particles[i][0], spread.particles[i][1]);
  }
  write_file(file.string() + ".csv", csv);
  write_picture(file, panels);
}

}  // namespace nascent
