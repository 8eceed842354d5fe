// Blur: "corrupt gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur".
#include <cmath>
#include <numbers>

#include "nascent/data/corruption.h"

namespace nascent {
namespace {

// A square of weights around a pixel.
struct Kernel {
  int radius = 0;
  std::vector<double> weights{};

  explicit Kernel(int radius) : radius(radius), weights(static_cast<size_t>((2 * radius + 1) * (2 * radius + 1))) {}
  double& at(int y, int x) { return weights[static_cast<size_t>((y + radius) * (2 * radius + 1) + x + radius)]; }
  double at(int y, int x) const {
    const bool inside = std::abs(y) <= radius && std::abs(x) <= radius;
    return inside ? weights[static_cast<size_t>((y + radius) * (2 * radius + 1) + x + radius)] : 0;
  }
  void normalise() {
    double sum = 0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
  }
};

void blur(FloatImage& image, const Kernel& kernel) {
  FloatImage result = image.like();
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        double sum = 0;
        for (int dy = -kernel.radius; dy <= kernel.radius; ++dy) {
          for (int dx = -kernel.radius; dx <= kernel.radius; ++dx)
            sum += kernel.at(dy, dx) * image.near(y + dy, x + dx, c);
        }
        result.at(y, x, c) = static_cast<float>(sum);
      }
    }
  }
  image = std::move(result);
}

Kernel gaussian(double deviation, int radius) {
  Kernel kernel(radius);
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) kernel.at(y, x) = std::exp(-(x * x + y * y) / (2 * deviation * deviation));
  }
  kernel.normalise();
  return kernel;
}

Kernel filled_disk(double of_radius, int radius) {
  Kernel kernel(radius);
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) kernel.at(y, x) = x * x + y * y <= of_radius * of_radius ? 1 : 0;
  }
  kernel.normalise();
  return kernel;
}

void gaussian_blur(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<double, 5> deviation = {0.4, 0.6, 0.7, 0.8, 1};
  blur(image, gaussian(deviation[severity], static_cast<int>(std::ceil(4 * deviation[severity]))));
}

// A disk, its edge softened by a small Gaussian.
void defocus_blur(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<std::array<double, 2>, 5> disks = {
      {{0.3, 0.4}, {0.4, 0.5}, {0.5, 0.6}, {1, 0.2}, {1.5, 0.1}}};  // radius, softness
  const auto [radius, softness] = disks[severity];
  const Kernel disk = filled_disk(radius, 8);
  const Kernel soft = gaussian(softness, 1);
  Kernel kernel(8);
  for (int y = -8; y <= 8; ++y) {
    for (int x = -8; x <= 8; ++x) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) kernel.at(y, x) += soft.at(dy, dx) * disk.at(y - dy, x - dx);
      }
    }
  }
  blur(image, kernel);
}

// Along a line at up to 45 degrees, weaker with the way gone.
void motion_blur(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<std::array<double, 2>, 5> motions = {
      {{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}};  // radius, deviation
  const auto [radius, deviation] = motions[severity];
  const double angle = random.uniform(-45, 45) * std::numbers::pi / 180;
  const FloatImage from = image;
  const int steps = 2 * static_cast<int>(radius) + 1;
  std::vector<double> weights;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    weights.push_back(std::exp(-i * i / (2 * deviation * deviation)));
    sum += weights.back();
  }
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        double value = 0;
        for (int i = 0; i < steps; ++i)
          value += weights[static_cast<size_t>(i)] * from.between(y - i * std::sin(angle), x - i * std::cos(angle), c);
        image.at(y, x, c) = static_cast<float>(value / sum);
      }
    }
  }
}

// The mean of the image and its enlargements about the middle.
void zoom_blur(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<int, 5> steps = {6, 11, 16, 21, 26};  // of 1 % from no zoom
  const FloatImage from = image;
  const double middle_y = (image.height - 1) / 2.0, middle_x = (image.width - 1) / 2.0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        double sum = from.at(y, x, c);
        for (int i = 0; i < steps[severity]; ++i) {
          const double zoom = 1 + 0.01 * i;
          sum += from.between(middle_y + (y - middle_y) / zoom, middle_x + (x - middle_x) / zoom, c);
        }
        image.at(y, x, c) = static_cast<float>(sum / (steps[severity] + 1));
      }
    }
  }
}

NASCENT_CORRUPTION("gaussian-blur", "as seen through frosted film", gaussian_blur);
NASCENT_CORRUPTION("defocus-blur", "out of focus", defocus_blur);
NASCENT_CORRUPTION("motion-blur", "moved along a line", motion_blur);
NASCENT_CORRUPTION("zoom-blur", "zoomed while exposed", zoom_blur);

}  // namespace
}  // namespace nascent
