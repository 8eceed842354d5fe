#include "nascent/score/linear_regions.h"

#include <ATen/ATen.h>

#include <limits>
#include <unordered_set>

#include "nascent/core/random.h"
#include "nascent/score/probe.h"

namespace nascent {

at::Tensor normal_images(const Shape& shape, int64_t count, uint64_t seed, const std::string& purpose) {
  RandomStream random(seed, purpose);
  at::Tensor images = at::empty({count, shape.channels, shape.height, shape.width});
  float* values = images.data_ptr<float>();
  for (int64_t i = 0; i < images.numel(); ++i) values[i] = static_cast<float>(random.normal());
  return images;
}

void for_each_pattern(const Tape& tape, const Trace& trace, const PatternVisitor& visit) {
  for (size_t i = 0; i < tape.steps().size(); ++i) {
    const Step& step = tape.steps()[i];
    if (step.kind == StepKind::relu) visit(trace.values[step.out].flatten(1) > 0, tape.copies(i));
  }
}

double count_linear_regions(const Tape& tape, const at::Tensor& images) {
  const Trace trace = forward(tape, images);
  const int64_t count = images.size(0);
  std::vector<std::string> codes(count);
  for_each_pattern(tape, trace, [&](const at::Tensor& pattern, int) {
    const at::Tensor bits = pattern.contiguous();
    const char* data = reinterpret_cast<const char*>(bits.data_ptr<bool>());
    for (int64_t i = 0; i < count; ++i) codes[i].append(data + i * bits.size(1), bits.size(1));
  });
  return static_cast<double>(std::unordered_set<std::string>(codes.begin(), codes.end()).size());
}

double kernel_condition(const Tape& tape, const at::Tensor& images, KernelGradients gradients,
                        KernelParameters parameters) {
  if (!tape.is_connected()) return std::numeric_limits<double>::infinity();
  const Trace trace = forward(tape, images);
  const at::Tensor seed = at::ones_like(trace.values[tape.logits()]);
  const auto eigenvalues = symmetric_eigenvalues(gram_matrix(tape, trace, seed, gradients, parameters));
  return eigenvalues.front() > 0 ? eigenvalues.back() / eigenvalues.front() : std::numeric_limits<double>::infinity();
}

}  // namespace nascent
