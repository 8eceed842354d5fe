#include "nascent/nn/initialiser.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <cmath>
#include <numbers>

#include "nascent/core/random.h"
#include "nascent/nn/layer.h"

namespace nascent {

namespace {

// In (0, 1), with as many random bits as a float can use.
float open_uniform(RandomStream& random) { return (static_cast<float>(random() >> 8) + 0.5f) * 0x1p-24f; }

void fill_uniform(float* out, int64_t count, float half_width, RandomStream& random) {
  for (int64_t i = 0; i < count; ++i) out[i] = half_width * (2 * open_uniform(random) - 1);
}

// Box and Muller's pairs, in single precision: networks have millions of weights.
void fill_normal(float* out, int64_t count, float deviation, RandomStream& random) {
  for (int64_t i = 0; i < count; i += 2) {
    const float radius = deviation * std::sqrt(-2 * std::log(open_uniform(random)));
    const float angle = 2 * std::numbers::pi_v<float> * open_uniform(random);
    out[i] = radius * std::cos(angle);
    if (i + 1 < count) out[i + 1] = radius * std::sin(angle);
  }
}

void fill(const at::Tensor& parameter, const std::string& name, uint64_t seed, bool normal, double scale) {
  RandomStream random(seed, "initialise/" + name);
  at::Tensor values = at::empty(parameter.sizes(), at::kFloat);
  (normal ? fill_normal : fill_uniform)(values.data_ptr<float>(), values.numel(), static_cast<float>(scale), random);
  parameter.copy_(values);
}

void reset_norm(Layer& layer) {
  if (layer.weight().defined()) layer.weight().fill_(1);
  if (layer.bias().defined()) layer.bias().fill_(0);
  for (const auto& buffer : layer.named_buffers(/*recurse=*/false)) {
    buffer.value().fill_(buffer.key() == "running_var" ? 1 : 0);
  }
}

void initialise(Layer& layer, const std::string& name, uint64_t seed, const Initialiser::Registry::Entry& entry) {
  if (layer.is_norm()) return reset_norm(layer);
  const at::Tensor& weight = layer.weight();
  if (!weight.defined()) return;
  const double fan_in = static_cast<double>(weight.numel()) / weight.size(0);
  const double fan_out = static_cast<double>(weight.numel()) / weight.size(1);
  const InitialLaw law = entry.make(fan_in, fan_out);
  fill(weight, name + ".weight", seed, law.normal, law.weight);
  if (layer.bias().defined()) fill(layer.bias(), name + ".bias", seed, false, law.bias);
}

}  // namespace

void initialise(torch::nn::Module& module, uint64_t seed, const std::string& initialiser) {
  const auto& entry = Initialiser::Registry::instance().at(initialiser);
  at::NoGradGuard no_grad;
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    if (auto* layer = item.value()->as<Layer>()) initialise(*layer, item.key(), seed, entry);
  }
}

NASCENT_REGISTER(Initialiser, "torch", "LibTorch's default: uniform, half-width 1/sqrt(fan in), biases too",
                 [](double fan_in, double) {
                   return InitialLaw{.weight = 1 / std::sqrt(fan_in), .bias = 1 / std::sqrt(fan_in)};
                 });
NASCENT_REGISTER(Initialiser, "he", "normal, variance 2 / fan in",
                 [](double fan_in, double) { return InitialLaw{.normal = true, .weight = std::sqrt(2 / fan_in)}; });
NASCENT_REGISTER(Initialiser, "he-fan-out", "normal, variance 2 / fan out",
                 [](double, double fan_out) { return InitialLaw{.normal = true, .weight = std::sqrt(2 / fan_out)}; });
NASCENT_REGISTER(Initialiser, "xavier", "normal, variance 2 / (fan in + fan out)", [](double fan_in, double fan_out) {
  return InitialLaw{.normal = true, .weight = std::sqrt(2 / (fan_in + fan_out))};
});
NASCENT_REGISTER(Initialiser, "standard-normal", "normal, variance 1: for the Zen-score",
                 [](double, double) { return InitialLaw{.normal = true, .weight = 1}; });
NASCENT_REGISTER(Initialiser, "lecun", "normal, variance 1 / fan in",
                 [](double fan_in, double) { return InitialLaw{.normal = true, .weight = std::sqrt(1 / fan_in)}; });

}  // namespace nascent
