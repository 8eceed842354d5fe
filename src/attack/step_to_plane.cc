// Projections onto a plane within a box, image by image.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "nascent/attack/fab.h"

namespace nascent {
namespace {

// Every pixel moves against its slope, at a speed, until it meets the box: at 1 each for the L-infinity norm, in
// proportion to its slope for L2. What is looked for is when the plane is reached.
struct Pixel {
  double slope, speed, stop;  // magnitude of the slope; the time at which the box is met
};

double time_to_reach(std::vector<Pixel>& pixels, double gap) {
  std::sort(pixels.begin(), pixels.end(), [](const Pixel& a, const Pixel& b) { return a.stop < b.stop; });
  double rate = 0, covered = 0, now = 0;
  for (const Pixel& pixel : pixels) rate += pixel.slope * pixel.speed;
  for (const Pixel& pixel : pixels) {
    const double until = covered + rate * (pixel.stop - now);
    if (until >= gap) break;
    covered = until;
    now = pixel.stop;
    rate -= pixel.slope * pixel.speed;
  }
  return rate > 0 && gap > covered ? now + (gap - covered) / rate : now;
}

void step_one(const float* image, const float* normal, double gap, const float* tops, int64_t count, int64_t plane,
              Norm norm, float* to) {
  const double sign = gap > 0 ? 1 : -1;
  std::vector<Pixel> pixels(count);
  for (int64_t i = 0; i < count; ++i) {
    const double slope = sign * normal[i], room = slope > 0 ? image[i] : double{tops[i / plane]} - image[i];
    const double speed = norm == Norm::linf ? 1 : std::abs(slope);
    pixels[i] = {std::abs(slope), slope == 0 ? 0 : speed, slope == 0 ? INFINITY : std::max(room, 0.0) / speed};
  }
  std::vector<Pixel> sorted;
  std::copy_if(pixels.begin(), pixels.end(), std::back_inserter(sorted), [](const Pixel& p) { return p.speed > 0; });
  const double time = time_to_reach(sorted, std::abs(gap));
  for (int64_t i = 0; i < count; ++i) {
    const double length = pixels[i].speed * std::min(time, pixels[i].stop);
    to[i] = static_cast<float>(sign * normal[i] > 0 ? -length : length);
  }
}

}  // namespace

at::Tensor step_to_plane(const at::Tensor& images, const at::Tensor& normals, const at::Tensor& gaps,
                         const Threat& threat) {
  const at::Tensor x = images.contiguous(), w = normals.contiguous(), c = gaps.to(at::kDouble).contiguous();
  const int64_t channels = x.size(1), plane = x.size(2) * x.size(3), count = channels * plane;
  const at::Tensor tops =
      threat.top.defined() ? threat.top.reshape({-1}).expand({channels}).contiguous() : at::ones({channels});
  at::Tensor steps = at::empty(x.sizes(), x.options());
  at::parallel_for(0, x.size(0), 1, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      step_one(x.data_ptr<float>() + n * count, w.data_ptr<float>() + n * count, c.data_ptr<double>()[n],
               tops.data_ptr<float>(), count, plane, threat.norm, steps.data_ptr<float>() + n * count);
    }
  });
  return steps;
}

}  // namespace nascent
