#include "nascent/search/one_shot/sampling.h"

#include <ATen/ATen.h>

#include <cmath>

namespace nascent {
namespace {

template <class Noise>
at::Tensor noise(at::IntArrayRef shape, const SearchPlace& place, const std::string& purpose, Noise of_uniform) {
  RandomStream random = stream_at(place, purpose);
  at::Tensor values = at::empty(shape, at::kFloat);
  float* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    // Both ends of the unit interval are kept out.
    data[i] = static_cast<float>(of_uniform((random.uniform() + 1e-12) / (1 + 2e-12)));
  }
  return values;
}

}  // namespace

RandomStream stream_at(const SearchPlace& place, const std::string& purpose) {
  const auto step = static_cast<uint64_t>(place.step), pass = static_cast<uint64_t>(place.pass);
  const auto draw = static_cast<uint64_t>(place.draw), shard = static_cast<uint64_t>(place.shard);
  if (shard > 0) return RandomStream(place.seed, purpose, {step, pass, draw, shard});
  if (draw > 0) return RandomStream(place.seed, purpose, {step, pass, draw});
  return RandomStream(place.seed, purpose, {step, pass});
}

at::Tensor gumbel_noise(at::IntArrayRef shape, const SearchPlace& place, const std::string& purpose) {
  return noise(shape, place, purpose, [](double u) { return -std::log(-std::log(u)); });
}

at::Tensor logistic_noise(at::IntArrayRef shape, const SearchPlace& place, const std::string& purpose) {
  return noise(shape, place, purpose, [](double u) { return std::log(u) - std::log1p(-u); });
}

std::vector<std::vector<int>> strongest_per_row(const at::Tensor& table) {
  const at::Tensor best = table.detach().argmax(-1);
  std::vector<std::vector<int>> rows;
  for (int64_t i = 0; i < best.size(0); ++i) rows.push_back({static_cast<int>(best[i].item<int64_t>())});
  return rows;
}

}  // namespace nascent
