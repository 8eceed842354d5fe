// A trained network as a flat list of primitive operations, from pixels in [0, 1] to logits. Every format is written
// from it.
//
//   const Graph graph = make_graph(model, /*fold=*/true);
//   const at::Tensor logits = run(graph, pixels);
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "nascent/train/model.h"

namespace nascent {

enum class GraphOp { conv, batch_norm, relu, max_pool, avg_pool, pad, slice, concat, add, global_avg_pool, linear };

struct GraphNode {
  GraphOp op;
  std::string name{};             // after the network's own: "cell3.node2.from0.sep_conv_3x3.1"
  std::vector<int> inputs{};      // value 0 is the image, value i + 1 the result of node i
  Stage window{StageKind::conv};  // of a convolution or pooling: kernel, stride, padding, dilation, groups
  at::Tensor weight{}, bias{};    // of conv, linear and batch_norm; a bias may be undefined
  at::Tensor mean{}, variance{};  // of batch_norm
  // pad: lines of zeros below and columns to the right. slice: the part that is kept, in channels, rows, columns.
  std::array<int64_t, 2> padding{};
  std::array<int64_t, 3> first{}, last{};
  Shape shape{};  // of the result
};

struct Graph {
  Shape input{};
  int classes = 0;
  std::vector<GraphNode> nodes{};

  int output() const { return static_cast<int>(nodes.size()); }
};

// The network in evaluation mode, normalisation included. With `fold`, batch norms become part of the convolutions
// before them. An Error for a supernet, which has no single graph.
Graph make_graph(const Model& model, bool fold);

// What a value looks like: that of node i is value i + 1.
Shape shape_of(const Graph& graph, int value);

// True for the layers that int8 files quantise: convolutions and linear layers, but not the normalisation.
bool is_quantised(const GraphNode& node);

// Logits by LibTorch's plain operations. `filter`, where given, makes what a layer that is_quantised() reads of
// `value`.
using InputFilter = std::function<at::Tensor(int value, const at::Tensor& tensor)>;
at::Tensor run(const Graph& graph, const at::Tensor& pixels, const InputFilter& filter = nullptr);

}  // namespace nascent
