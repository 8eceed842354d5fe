// Small networks and images for the tests of src/score, and a second implementation of everything through autograd.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "nascent/nn/layer.h"
#include "nascent/nn/network.h"
#include "nascent/score/probe.h"
#include "nn/samples.h"

namespace nascent::testing_score {

using testing_nn::normal_tensor;
using testing_nn::sample_images;

// Architectures of every kind of space, those with zeros and dead ends among them.
inline std::vector<std::string> architectures() {
  return {"|nor_conv_3x3~0|+|nor_conv_1x1~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|",
          "|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|nor_conv_3x3~2|",
          "|none~0|+|nor_conv_3x3~0|nor_conv_1x1~1|+|none~0|nor_conv_3x3~1|skip_connect~2|",
          "darts-v2",
          "amoebanet",
          "nasbench1shot1-s1:77",
          "nasbench1shot1-s3:1234"};
}

struct Sample {
  Genotype genotype;
  std::shared_ptr<const Space> space;
  NetworkOptions size;
  Shape input{3, 10, 10};
  int classes = 4;

  explicit Sample(const std::string& name, int channels = 3) : genotype(find_genotype(name)) {
    space = find_space(genotype.space);
    size.channels = channels;
    size.cells = space->skeleton() == "darts" ? 3 : 1;
  }
  ProbeSource source() const { return {*space, size, input, classes}; }
  NetworkPlan plan() const { return plan_network(*space, genotype, size, input, classes); }
  TensorBatch batch(int64_t images, at::ScalarType type = at::kFloat) const {
    at::Tensor labels = at::empty({images}, at::kLong);
    for (int64_t i = 0; i < images; ++i) labels[i] = (i * 7 + 3) % classes;
    return {sample_images(input, images, 5, type), labels};
  }
};

// The weights that metrics count: of convolutions and linear layers, by name.
inline std::vector<at::Tensor> counted_weights(const Network& network) {
  std::vector<at::Tensor> weights;
  for (const auto& item : network.named_parameters()) {
    if (item.key().ends_with("weight") && item.value().dim() > 1) weights.push_back(item.value());
  }
  return weights;
}

inline at::Tensor flat_gradient(const at::Tensor& y, const std::vector<at::Tensor>& weights,
                                bool create_graph = false) {
  auto gradients = torch::autograd::grad({y}, weights, {}, true, create_graph, true);
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < weights.size(); ++i) {
    parts.push_back((gradients[i].defined() ? gradients[i] : at::zeros_like(weights[i])).reshape({-1}));
  }
  return at::cat(parts);
}

inline at::Tensor flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const auto& tensor : tensors) parts.push_back(tensor.detach().reshape({-1}));
  return at::cat(parts);
}

// The values of a tape through autograd. `norms`, where given, are the statistics that batch norms use instead of the
// images' own.
inline std::vector<at::Tensor> autograd_values(const Tape& tape, const at::Tensor& images,
                                               const std::vector<Trace::Norm>* norms = nullptr) {
  std::vector<at::Tensor> values(tape.values());
  values[Tape::kImage] = images;
  const auto channels = [](const ChannelValues& numbers) {
    return at::tensor(numbers, at::kDouble).view({1, -1, 1, 1});
  };
  for (size_t i = 0; i < tape.steps().size(); ++i) {
    const Step& step = tape.steps()[i];
    const Stage& s = step.stage;
    const at::Tensor x = values[std::max(step.in[0], 0)];
    at::Tensor y;
    switch (step.kind) {
      case StepKind::relu:
        y = x.relu();
        break;
      case StepKind::conv:
        y = at::conv2d(x, step.weight, step.bias, {s.stride_h, s.stride_w}, {s.padding_h, s.padding_w}, s.dilation,
                       s.groups);
        break;
      case StepKind::batch_norm: {
        const at::Tensor mean = norms ? channels((*norms)[i].mean).to(x.scalar_type()) : x.mean({0, 2, 3}, true);
        const at::Tensor variance =
            norms ? channels((*norms)[i].variance).to(x.scalar_type()) : (x - mean).square().mean({0, 2, 3}, true);
        y = (x - mean) / (variance + 1e-5).sqrt();
        if (step.scale.defined()) y = y * step.scale.view({1, -1, 1, 1}) + step.bias.view({1, -1, 1, 1});
        break;
      }
      case StepKind::max_pool:
        y = at::max_pool2d(x, {s.kernel_h, s.kernel_w}, {s.stride_h, s.stride_w}, {s.padding_h, s.padding_w});
        break;
      case StepKind::avg_pool:
        y = at::avg_pool2d(x, {s.kernel_h, s.kernel_w}, {s.stride_h, s.stride_w}, {s.padding_h, s.padding_w}, false,
                           false);
        break;
      case StepKind::shift:
        y = at::constant_pad_nd(x, {0, x.size(3) % 2, 0, x.size(2) % 2}).slice(2, 1).slice(3, 1);
        break;
      case StepKind::zeros:
        y = at::zeros({x.size(0), step.widths[0], step.widths[1], step.widths[2]}, x.options());
        break;
      case StepKind::truncate:
        y = x.narrow(1, 0, s.out);
        break;
      case StepKind::global_avg_pool:
        y = x.mean({2, 3}, true);
        break;
      case StepKind::linear:
        y = at::linear(x.flatten(1), step.weight, step.bias);
        break;
      case StepKind::function:
        y = Layer(s).forward(x);
        break;
      case StepKind::add:
        y = x;
        for (size_t k = 1; k < step.in.size(); ++k) y = y + values[step.in[k]];
        break;
      case StepKind::scale:
        y = x * step.factor;
        break;
      case StepKind::concat: {
        std::vector<at::Tensor> parts;
        for (const int k : step.in) parts.push_back(values[k]);
        y = at::cat(parts, 1);
        break;
      }
    }
    values[step.out] = y;
  }
  return values;
}

}  // namespace nascent::testing_score
