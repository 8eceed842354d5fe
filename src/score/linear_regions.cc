#include "score/linear_regions.h"

#include <ATen/ATen.h>

#include <limits>
#include <unordered_set>

#include "core/random.h"
#include "score/probe.h"
#include "score/sample_gradients.h"

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

double count_linear_regions(const Tape& tape, const Shape& shape, int64_t images, uint64_t seed) {
  const Trace trace = forward(tape, normal_images(shape, images, seed, "region images"));
  std::vector<std::string> codes(images);
  for_each_pattern(tape, trace, [&](const at::Tensor& pattern, int) {
    const at::Tensor bits = pattern.contiguous();
    const char* data = reinterpret_cast<const char*>(bits.data_ptr<bool>());
    for (int64_t i = 0; i < images; ++i) codes[i].append(data + i * bits.size(1), bits.size(1));
  });
  return static_cast<double>(std::unordered_set<std::string>(codes.begin(), codes.end()).size());
}

double kernel_condition(const Tape& tape, const TensorBatch& batch) {
  if (!tape.is_connected()) return std::numeric_limits<double>::infinity();
  const Trace trace = forward(tape, batch.images);
  const int64_t images = batch.labels.size(0);
  at::Tensor gram = at::zeros({images, images}, at::kDouble);
  const auto visit = [&](size_t i, const at::Tensor& gradient) {
    add_gram(tape.steps()[i], trace.values[tape.steps()[i].in[0]], gradient, gram);
  };
  backward(tape, trace, label_seed(trace.values[tape.logits()], batch.labels), Statistics::constant, visit);
  const auto eigenvalues = symmetric_eigenvalues(gram);
  return eigenvalues.front() > 0 ? eigenvalues.back() / eigenvalues.front() : std::numeric_limits<double>::infinity();
}

}  // namespace nascent
