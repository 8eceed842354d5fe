#include "nascent/ensemble/two_gaussians.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr int kPixels = 96, kSide = 192, kGap = 30, kTop = 26, kLevels = 7;

double across(double value) { return (value - kLow) / (kHigh - kLow) * kSide; }

// The density in steps, whose borders are contours; equal steps of a row are one rectangle.
std::string density_steps(double left) {
  constexpr double kPixel = static_cast<double>(kSide) / kPixels, kMost = 1.15;
  const auto place = [](int i) { return kLow + (i + 0.5) * (kHigh - kLow) / kPixels; };
  const auto level = [&](int column, int row) {
    return std::ceil(kLevels * two_gaussians_density(place(column), -place(row)) / kMost - 0.35);
  };
  std::string svg;
  for (int row = 0; row < kPixels; ++row) {
    for (int column = 0, next = 0; column < kPixels; column = next) {
      const double found = level(column, row);
      for (next = column + 1; next < kPixels && level(next, row) == found;) ++next;
      if (found <= 0) continue;
      svg += fmt::format("<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" fill-opacity=\"{:.2f}\"/>",
                         left + column * kPixel, kTop + row * kPixel, (next - column) * kPixel, kPixel, 0.1 * found);
    }
  }
  return fmt::format("<g fill=\"#2f6bd8\" shape-rendering=\"crispEdges\">{}</g>\n", svg);
}

std::string draw_frame(double left) {
  std::string svg =
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#9aa4b2\"/>\n", left, kTop,
                  kSide, kSide);
  for (const int tick : {-2, 0, 2}) {
    svg += fmt::format(
        "<text x=\"{:g}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#5b6472\">{}</text>"
        "<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\" font-size=\"10\" fill=\"#5b6472\">{}</text>\n",
        left + across(tick), kTop + kSide + 13, tick, left - 4, kTop + kSide - across(tick) + 3, tick);
  }
  return svg;
}

std::string draw_particles(const Particles& particles, double left) {
  std::string svg;
  for (const Particle& p : particles) {
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#e0701a\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>",
        left + across(p[0]), kTop + kSide - across(p[1]));
  }
  return svg + "\n";
}

}  // namespace

std::string draw_spreads(const std::vector<ParticleSpread>& spreads) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      (kSide + kGap) * static_cast<int>(spreads.size()) + kGap, kSide + kTop + 22);
  for (size_t s = 0; s < spreads.size(); ++s) {
    const double left = kGap + (kSide + kGap) * static_cast<double>(s);
    svg += fmt::format("<text x=\"{}\" y=\"17\" text-anchor=\"middle\">δ = {:g}</text>\n", left + kSide / 2.0,
                       spreads[s].delta);
    svg += density_steps(left) + draw_frame(left) + draw_particles(spreads[s].particles, left);
  }
  return svg + "</svg>\n";
}

}  // namespace nascent
