// Models with made-up weights: every tensor is moved, the running statistics too, so that no mistake hides behind a
// zero.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/nn/threads.h"
#include "nascent/space/plan.h"
#include "nascent/train/model.h"
#include "nascent/train/weights.h"

namespace nascent::testing_export {

// Networks this small are done before a second thread has begun; on a busy machine, waiting for it takes the time.
inline const bool one_thread = (use_threads(1), true);

inline void move_weights(Network& network) {
  at::NoGradGuard no_grad;
  for (auto& [name, tensor] : weights_of(network)) {
    RandomStream random(7, name);
    const bool variance = name.ends_with("running_var");
    at::Tensor flat = tensor.view({-1});
    const bool affine = tensor.dim() == 1;
    for (int64_t i = 0; affine && i < flat.numel(); ++i) {
      flat[i] = variance                   ? random.uniform(0.5, 1.5)
                : name.ends_with("weight") ? random.uniform(0.7, 1.3)
                                           : random.uniform(-0.2, 0.2);
    }
  }
}

inline Model sample_model(const std::string& space_name, const Genotype& genotype, const Shape& input,
                          NetworkOptions options = {}) {
  const auto space = find_space(space_name);
  if (options.channels == 0) options.channels = 4;
  if (options.cells == 0) options.cells = space->skeleton() == "darts" ? 3 : 1;
  Model model;
  model.genotype = genotype;
  model.network_options = options;
  model.input = input;
  for (int i = 0; i < 5; ++i) model.class_names.push_back("sort " + std::to_string(i));
  for (int c = 0; c < input.channels; ++c) {
    model.statistics.mean.push_back(0.4 + 0.05 * c);
    model.statistics.deviation.push_back(0.2 + 0.03 * c);
  }
  model.network = std::make_shared<Network>(plan_network(*space, genotype, options, input, 5), /*seed=*/3);
  move_weights(*model.network);
  model.network->eval();
  return model;
}

struct Sample {
  std::string what;
  Model model;
};

inline Sample sample_of(const std::string& what, const Genotype& genotype, const Shape& shape) {
  const auto space = find_space(genotype.space);
  NetworkOptions options;
  if (space->own_cells()) options.cells = space->default_cells();
  return {what + " " + shape.text(), sample_model(genotype.space, genotype, shape, options)};
}

// Random cells of every space, another one on each kind of image.
inline std::vector<Sample> random_models(const std::vector<Shape>& shapes = {{3, 32, 32}, {1, 28, 28}, {3, 33, 28}}) {
  std::vector<Sample> samples;
  RandomStream random(11, "export");
  for (const auto& name : Space::Registry::instance().names()) {
    for (const Shape& shape : shapes) samples.push_back(sample_of(name, find_space(name)->sample(random), shape));
  }
  return samples;
}

inline std::vector<Sample> shipped_models() {
  const std::vector<Shape> shapes = {{3, 32, 32}, {3, 33, 33}, {1, 28, 28}};
  std::vector<Sample> samples;
  for (const auto& name : known_genotypes())
    samples.push_back(sample_of(name, find_genotype(name), shapes[samples.size() % shapes.size()]));
  return samples;
}

inline Model small_model(const Shape& input = {3, 16, 16}) {
  return sample_model("nasbench201", find_genotype("nasbench201:4321"), input);
}

}  // namespace nascent::testing_export
