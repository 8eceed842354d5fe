#include "nascent/analysis/linear_cells.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/core/random.h"
#include "nascent/score/sample_gradients.h"
#include "nascent/space/cell_plan.h"

namespace nascent {

NetworkPlan vector_network(int inputs, const std::vector<Stages>& branches, int features) {
  NetworkPlan plan{.space = "theory", .skeleton = "theory", .input = {inputs, 1, 1}, .classes = 1};
  plan.cells = {plan_fixed_block(plan.input, branches, false)};
  plan.head = {stage::linear(features, 1)};
  return plan;
}

Network standard_network(const NetworkPlan& plan, uint64_t seed) {
  Network network(plan, seed, "lecun");
  network.to(at::kDouble);
  at::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    at::Tensor weight = item.value();
    if (weight.dim() == 4) weight.mul_(std::sqrt(static_cast<double>(weight.size(1))));
    if (item.key() == "head.0.weight") weight.fill_(1);
  }
  return network;
}

at::Tensor orthonormal_images(int64_t count, int64_t size, uint64_t seed) {
  RandomStream random(seed, "orthonormal");
  at::Tensor square = at::empty({size, size}, at::kDouble);
  double* numbers = square.data_ptr<double>();
  for (int64_t i = 0; i < size * size; ++i) numbers[i] = random.normal();
  return std::get<0>(at::linalg_qr(square)).narrow(0, 0, count).reshape({count, size, 1, 1});
}

TangentKernel tangent_kernel(const Network& network, const at::Tensor& images) {
  const Tape tape(network);
  const Trace trace = forward(tape, images);
  const int64_t count = images.size(0);
  TangentKernel kernel{at::zeros({count, count}, at::kDouble), at::zeros({count, count}, at::kDouble)};
  const auto visit = [&](size_t i, const at::Tensor& gradient) {
    const Step& step = tape.steps()[i];
    add_gram(step, trace.values[step.in[0]], gradient, step.kind == StepKind::conv ? kernel.hidden : kernel.head);
  };
  backward(tape, trace, at::ones({count, 1}, images.options()), Statistics::constant, visit);
  return kernel;
}

}  // namespace nascent
