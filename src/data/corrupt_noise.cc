// Noise: "corrupt gaussian-noise", "shot-noise", "impulse-noise", "speckle-noise".
#include <cmath>

#include "nascent/data/corruption.h"

namespace nascent {
namespace {

void gaussian_noise(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<double, 5> deviation = {0.04, 0.06, 0.08, 0.09, 0.10};
  for (float& x : image.values) x += static_cast<float>(deviation[severity] * random.normal());
}

// Counts of photons. Where many are expected, a Gaussian is as good.
double poisson(double mean, RandomStream& random) {
  if (mean > 50) return std::max(0.0, std::round(mean + std::sqrt(mean) * random.normal()));
  const double end = std::exp(-mean);
  double product = random.uniform();
  int count = 0;
  while (product > end) {
    product *= random.uniform();
    ++count;
  }
  return count;
}

void shot_noise(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<double, 5> photons = {500, 250, 100, 75, 50};  // of a white pixel
  for (float& x : image.values) x = static_cast<float>(poisson(x * photons[severity], random) / photons[severity]);
}

void impulse_noise(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<double, 5> share = {0.01, 0.02, 0.03, 0.05, 0.07};
  for (float& x : image.values) {
    const double u = random.uniform();
    if (u < share[severity]) x = u < share[severity] / 2 ? 0.0f : 1.0f;
  }
}

void speckle_noise(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<double, 5> deviation = {0.06, 0.1, 0.12, 0.16, 0.2};
  for (float& x : image.values) x += x * static_cast<float>(deviation[severity] * random.normal());
}

NASCENT_CORRUPTION("gaussian-noise", "the same normal noise on every value", gaussian_noise);
NASCENT_CORRUPTION("shot-noise", "noise of few photons", shot_noise);
NASCENT_CORRUPTION("impulse-noise", "some values black or white", impulse_noise);
NASCENT_CORRUPTION("speckle-noise", "normal noise in proportion to the value", speckle_noise);

}  // namespace
}  // namespace nascent
