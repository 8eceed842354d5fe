// A graph computed by LibTorch's plain operations.
#include <ATen/ATen.h>

#include "nascent/export/graph.h"
#include "nascent/nn/layer.h"

namespace nascent {
namespace {

at::Tensor compute(const GraphNode& node, const std::vector<at::Tensor>& x) {
  const Stage& w = node.window;
  const std::array<int64_t, 2> kernel = {w.kernel_h, w.kernel_w}, stride = {w.stride_h, w.stride_w},
                               padding = {w.padding_h, w.padding_w};
  switch (node.op) {
    case GraphOp::conv:
      return at::conv2d(x[0], node.weight, node.bias, stride, padding, w.dilation, w.groups);
    case GraphOp::batch_norm:
      return at::batch_norm(x[0], node.weight, node.bias, node.mean, node.variance, false, 0, kNormEpsilon, true);
    case GraphOp::relu:
      return at::relu(x[0]);
    case GraphOp::max_pool:
      return at::max_pool2d(x[0], kernel, stride, padding);
    case GraphOp::avg_pool:
      return at::avg_pool2d(x[0], kernel, stride, padding, false, /*count_include_pad=*/false);
    case GraphOp::pad:
      return at::constant_pad_nd(x[0], {0, node.padding[1], 0, node.padding[0]});
    case GraphOp::slice:
      return x[0]
          .slice(1, node.first[0], node.last[0])
          .slice(2, node.first[1], node.last[1])
          .slice(3, node.first[2], node.last[2]);
    case GraphOp::concat:
      return at::cat(x, 1);
    case GraphOp::add:
      return x[0] + x[1];
    case GraphOp::global_avg_pool:
      return at::mean(x[0], {2, 3}, true);
    case GraphOp::linear:
      return at::linear(x[0].flatten(1), node.weight, node.bias);
  }
  return {};
}

}  // namespace

at::Tensor run(const Graph& graph, const at::Tensor& pixels, const InputFilter& filter) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> values = {pixels};
  std::vector<int> readers(graph.nodes.size() + 1, 0);
  for (const GraphNode& node : graph.nodes) {
    for (const int input : node.inputs) ++readers[input];
  }
  for (const GraphNode& node : graph.nodes) {
    std::vector<at::Tensor> inputs;
    for (const int input : node.inputs) {
      inputs.push_back(filter && is_quantised(node) ? filter(input, values[input]) : values[input]);
    }
    values.push_back(compute(node, inputs));
    for (const int input : node.inputs) {
      if (--readers[input] == 0) values[input].reset();
    }
  }
  return values.back();
}

}  // namespace nascent
