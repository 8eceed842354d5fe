#include "nascent/attack/random_start.h"

#include <ATen/ATen.h>

#include <cmath>

namespace nascent {
namespace {

void fill_uniform(RandomStream& random, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(random.uniform(-1, 1));
}

void fill_normal(RandomStream& random, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(random.normal());
}

void scale_to(float* to, int64_t count, double length, Norm norm) {
  double now = 0;
  for (int64_t i = 0; i < count; ++i) {
    now = norm == Norm::linf ? std::max(now, std::abs(double{to[i]})) : now + double{to[i]} * to[i];
  }
  if (norm == Norm::l2) now = std::sqrt(now);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(to[i] * length / std::max(now, 1e-12));
}

}  // namespace

RandomStream image_stream(uint64_t seed, const std::string& attack, int64_t image, int restart) {
  return {seed, "attack " + attack, {static_cast<uint64_t>(image), static_cast<uint64_t>(restart)}};
}

at::Tensor random_start(const Attacked& attacked, const Threat& threat, Spread spread, uint64_t seed,
                        const std::string& attack, int restart, const at::Tensor& radius) {
  at::Tensor steps = at::empty(attacked.images.sizes(), at::kFloat);
  const int64_t count = attacked.size() > 0 ? steps.numel() / attacked.size() : 0;
  for (int64_t n = 0; n < attacked.size(); ++n) {
    RandomStream random = image_stream(seed, attack, attacked.indices[n], restart);
    float* to = steps.data_ptr<float>() + n * count;
    if (threat.norm == Norm::linf) {
      fill_uniform(random, to, count);
      if (spread == Spread::surface) scale_to(to, count, 1, Norm::linf);
    } else {
      fill_normal(random, to, count);
      const double length =
          spread == Spread::surface ? 1 : std::pow(random.uniform(), 1.0 / static_cast<double>(count));
      scale_to(to, count, length, Norm::l2);
    }
  }
  const at::Tensor reach = radius.defined() ? over_pixels(radius) : at::full({1, 1, 1, 1}, threat.eps);
  return threat.project(attacked.images + steps * reach, attacked.images);
}

}  // namespace nascent
