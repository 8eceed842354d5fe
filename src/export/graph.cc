#include "nascent/export/graph.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "nascent/core/error.h"
#include "nascent/data/normalisation.h"
#include "nascent/nn/layer.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

// Scale and shift that a batch norm applies in evaluation mode.
struct Affine {
  at::Tensor scale, shift;
};

class GraphBuilder {
 public:
  GraphBuilder(const Model& model, bool fold) : plan_(model.network->plan()), fold_(fold) {
    for (const auto& [name, tensor] : weights_of(*model.network)) weights_[name] = tensor.detach().cpu().contiguous();
    graph_.input = plan_.input;
    graph_.classes = plan_.classes;
    shapes_.push_back(plan_.input);
    normalise(normalisation_of(model.eval_transforms, model.statistics, plan_.input.channels));
  }

  Graph build() {
    int last = graph_.output(), before_last = last;
    for (size_t i = 0; i < plan_.stems.size(); ++i) {
      before_last = last;
      last = add_stages(plan_.stems[i], fmt::format("stem{}", i), last);
    }
    if (plan_.stems.size() < 2) before_last = last;
    for (size_t i = 0; i < plan_.cells.size(); ++i) {
      const CellPlan& cell = plan_.cells[i];
      const std::vector<int> inputs =
          cell.preprocess.size() == 1 ? std::vector<int>{last} : std::vector<int>{before_last, last};
      before_last = last;
      last = add_cell(cell, fmt::format("cell{}", i), inputs);
    }
    add_stages(plan_.head, "head", last);
    return std::move(graph_);
  }

 private:
  int add(GraphNode node) {
    shapes_.push_back(node.shape);
    graph_.nodes.push_back(std::move(node));
    return graph_.output();
  }

  // Undefined where the layer has no such tensor.
  at::Tensor weight(const std::string& layer, const char* which) const {
    const auto found = weights_.find(layer + "." + which);
    return found == weights_.end() ? at::Tensor() : found->second;
  }

  // A depthwise 1x1 convolution: every reader has one, and none rounds it in its own way.
  void normalise(const ChannelStatistics& statistics) {
    const int channels = plan_.input.channels;
    const at::Tensor deviation = at::tensor(statistics.deviation, at::kDouble);
    const at::Tensor shift = -at::tensor(statistics.mean, at::kDouble) / deviation;
    add({.op = GraphOp::conv,
         .name = "normalise",
         .inputs = {0},
         .window = stage::depthwise(channels, 1, 1),
         .weight = deviation.reciprocal().to(at::kFloat).view({channels, 1, 1, 1}),
         .bias = shift.to(at::kFloat),
         .shape = plan_.input});
  }

  Affine affine(const std::string& norm) const {
    const at::Tensor mean = weight(norm, "running_mean").to(at::kDouble);
    const at::Tensor variance = weight(norm, "running_var").to(at::kDouble);
    const at::Tensor learnt = weight(norm, "weight"), offset = weight(norm, "bias");
    at::Tensor scale = (variance + kNormEpsilon).rsqrt();
    if (learnt.defined()) scale = scale * learnt.to(at::kDouble);
    at::Tensor shift = -mean * scale;
    if (offset.defined()) shift = shift + offset.to(at::kDouble);
    return {scale, shift};
  }

  int add_stages(const Stages& stages, const std::string& prefix, int value) {
    for (size_t i = 0; i < stages.size(); ++i) {
      const std::string layer = fmt::format("{}.{}", prefix, i);
      const bool weighted = stages[i].kind == StageKind::conv || stages[i].kind == StageKind::factorized_reduce;
      const bool folds = fold_ && weighted && i + 1 < stages.size() && stages[i + 1].kind == StageKind::batch_norm;
      value = add_stage(stages[i], layer, folds ? fmt::format("{}.{}", prefix, i + 1) : "", value);
      if (folds) ++i;
    }
    return value;
  }

  int add_stage(const Stage& stage, const std::string& layer, const std::string& norm, int value) {
    const Shape shape = stage.output(shapes_[value]);
    switch (stage.kind) {
      case StageKind::relu:
        return add_relu(layer, value);
      case StageKind::conv:
        return add_conv(stage, layer, value, shape, folded(weight(layer, "weight"), weight(layer, "bias"), norm));
      case StageKind::batch_norm:
        return add_norm(layer, value);
      case StageKind::max_pool:
        return add({.op = GraphOp::max_pool, .name = layer, .inputs = {value}, .window = stage, .shape = shape});
      case StageKind::avg_pool:
        return add({.op = GraphOp::avg_pool, .name = layer, .inputs = {value}, .window = stage, .shape = shape});
      case StageKind::factorized_reduce:
        return add_reduce(stage, layer, norm, value);
      case StageKind::zero:
        return add_zeros(layer, value, shape, stage.stride_h, stage.stride_w);
      case StageKind::truncate:
        return add_slice(layer, value, {0, 0, 0}, {shape.channels, shape.height, shape.width});
      case StageKind::global_avg_pool:
        return add({.op = GraphOp::global_avg_pool, .name = layer, .inputs = {value}, .shape = shape});
      case StageKind::linear:
        return add({.op = GraphOp::linear,
                    .name = layer,
                    .inputs = {value},
                    .weight = weight(layer, "weight"),
                    .bias = weight(layer, "bias"),
                    .shape = shape});
    }
    fail("A stage of kind {} cannot be exported.", static_cast<int>(stage.kind));
  }

  // Cells begin with ReLUs of the same states: each is computed once.
  int add_relu(const std::string& layer, int value) {
    const auto [known, added] = relus_.try_emplace(value, 0);
    if (added) known->second = add({.op = GraphOp::relu, .name = layer, .inputs = {value}, .shape = shapes_[value]});
    return known->second;
  }

  std::pair<at::Tensor, at::Tensor> folded(const at::Tensor& weight, const at::Tensor& bias,
                                           const std::string& norm) const {
    if (norm.empty()) return {weight, bias};
    const Affine norm_is = affine(norm);
    const at::Tensor scaled = weight.to(at::kDouble) * norm_is.scale.view({-1, 1, 1, 1});
    const at::Tensor shift = bias.defined() ? norm_is.shift + bias.to(at::kDouble) * norm_is.scale : norm_is.shift;
    return {scaled.to(at::kFloat).contiguous(), shift.to(at::kFloat)};
  }

  int add_conv(const Stage& stage, const std::string& layer, int value, const Shape& shape,
               const std::pair<at::Tensor, at::Tensor>& weights) {
    return add({.op = GraphOp::conv,
                .name = layer,
                .inputs = {value},
                .window = stage,
                .weight = weights.first,
                .bias = weights.second,
                .shape = shape});
  }

  int add_norm(const std::string& layer, int value) {
    const int channels = shapes_[value].channels;
    const auto or_else = [&](const char* which, double otherwise) {
      const at::Tensor tensor = weight(layer, which);
      return tensor.defined() ? tensor : at::full({channels}, otherwise, at::kFloat);
    };
    return add({.op = GraphOp::batch_norm,
                .name = layer,
                .inputs = {value},
                .weight = or_else("weight", 1),
                .bias = or_else("bias", 0),
                .mean = weight(layer, "running_mean"),
                .variance = weight(layer, "running_var"),
                .shape = shapes_[value]});
  }

  int add_slice(const std::string& layer, int value, std::array<int64_t, 3> first, std::array<int64_t, 3> last) {
    const auto side = [&](int axis) { return static_cast<int>(last[axis] - first[axis]); };
    const Shape kept = {side(0), side(1), side(2)};
    if (kept == shapes_[value]) return value;
    return add({.op = GraphOp::slice, .name = layer, .inputs = {value}, .first = first, .last = last, .shape = kept});
  }

  // See Layer: one half reads the even pixels, the other the image shifted by one, padded to even sides.
  int add_reduce(const Stage& stage, const std::string& layer, const std::string& norm, int value) {
    const Shape input = shapes_[value];
    const auto [weights, bias] = folded(weight(layer, "weight"), {}, norm);
    const int half = stage.out / 2;
    const auto part = [&](int from, int count, const std::string& name, int source) {
      const Shape shape = {count, (input.height + 1) / 2, (input.width + 1) / 2};
      const at::Tensor shift = bias.defined() ? bias.narrow(0, from, count).contiguous() : at::Tensor();
      return add_conv(stage::conv(stage.in, count, 1, 2, 0), name, source, shape,
                      {weights.narrow(0, from, count).contiguous(), shift});
    };
    int shifted = value;
    const int odd_h = input.height % 2, odd_w = input.width % 2;
    if (odd_h + odd_w > 0) {
      shifted = add({.op = GraphOp::pad,
                     .name = layer + ".pad",
                     .inputs = {value},
                     .padding = {odd_h, odd_w},
                     .shape = {input.channels, input.height + odd_h, input.width + odd_w}});
    }
    shifted =
        add_slice(layer + ".shift", shifted, {0, 1, 1}, {input.channels, input.height + odd_h, input.width + odd_w});
    if (half == 0) return part(0, stage.out, layer + ".second", shifted);
    const int first = part(0, half, layer + ".first", value);
    const int second = part(half, stage.out - half, layer + ".second", shifted);
    return add_concat(layer, {first, second});
  }

  // Zeros for a number of images that is not known yet: a convolution whose weights are zero.
  int add_zeros(const std::string& layer, int value, const Shape& shape, int stride_h, int stride_w) {
    const int in = shapes_[value].channels;
    Stage window = stage::conv(in, shape.channels, 1, 1, 0, 1, in == shape.channels ? in : 1);
    window.stride_h = stride_h;
    window.stride_w = stride_w;
    return add_conv(window, layer, value, shape, {at::zeros({shape.channels, in / window.groups, 1, 1}), {}});
  }

  int add_concat(const std::string& name, const std::vector<int>& values) {
    if (values.size() == 1) return values[0];
    Shape shape = shapes_[values[0]];
    shape.channels = 0;
    for (const int value : values) shape.channels += shapes_[value].channels;
    return add({.op = GraphOp::concat, .name = name, .inputs = values, .shape = shape});
  }

  int add_sum(const std::string& name, const std::vector<int>& values) {
    int sum = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
      sum = add({.op = GraphOp::add,
                 .name = values.size() == 2 ? name : fmt::format("{}.{}", name, i),
                 .inputs = {sum, values[i]},
                 .shape = shapes_[sum]});
    }
    return sum;
  }

  static const Stages& only(const std::vector<Stages>& candidates) {
    if (candidates.size() == 1) return candidates[0];
    fail("A supernet cannot be exported: an edge has {} candidates. Train the network of a genotype and export that.",
         candidates.size());
  }

  static std::string named(const std::vector<std::string>& ops) {
    return ops.empty() || ops[0].empty() ? "fixed" : ops[0];
  }

  static bool is_zero(const Stages& stages) {
    return std::any_of(stages.begin(), stages.end(), [](const Stage& s) { return s.kind == StageKind::zero; });
  }

  // Edges are named as Cell names them: a second one from the same state is "from0_2".
  int add_node(const NodePlan& node, const std::string& name, const std::vector<int>& states) {
    std::vector<int> terms;
    std::map<int, int> seen;
    for (const EdgePlan& edge : node.edges) {
      const int same = ++seen[edge.from];
      if (is_zero(only(edge.candidates))) continue;
      const std::string from = same == 1 ? fmt::format("from{}", edge.from) : fmt::format("from{}_{}", edge.from, same);
      terms.push_back(
          add_stages(edge.candidates[0], fmt::format("{}.{}.{}", name, from, named(edge.ops)), states[edge.from]));
    }
    int value = terms.empty() ? no_terms(node, name, states) : add_sum(name + ".sum", terms);
    if (!node.candidates.empty()) {
      value = add_stages(only(node.candidates), fmt::format("{}.op.{}", name, named(node.ops)), value);
    }
    return value;
  }

  // A node all of whose edges are zero, or that has none.
  int no_terms(const NodePlan& node, const std::string& name, const std::vector<int>& states) {
    const int from = node.edges.empty() ? states[0] : states[node.edges[0].from];
    const Shape in = shapes_[from];
    const Shape out = node.edges.empty() ? in : edge_output(node.edges[0], in);
    const auto stride = [](int side, int kept) { return kept == side ? 1 : (side + kept - 1) / kept; };
    return add_zeros(name + ".zeros", from, out, stride(in.height, out.height), stride(in.width, out.width));
  }

  int add_cell(const CellPlan& cell, const std::string& name, const std::vector<int>& inputs) {
    std::vector<int> states;
    for (size_t i = 0; i < cell.preprocess.size(); ++i) {
      states.push_back(add_stages(cell.preprocess[i], fmt::format("{}.pre{}", name, i), inputs[i]));
    }
    for (const NodePlan& node : cell.nodes) {
      states.push_back(add_node(node, fmt::format("{}.node{}", name, states.size()), states));
    }
    std::vector<int> parts;
    for (const int state : cell.output) parts.push_back(states[state]);
    const int result = add_concat(name + ".output", parts);
    if (!cell.shortcut) return result;
    return add_sum(name + ".sum", {result, add_stages(*cell.shortcut, name + ".shortcut", states[0])});
  }

  const NetworkPlan& plan_;
  bool fold_;
  std::map<std::string, at::Tensor> weights_;
  Graph graph_;
  std::vector<Shape> shapes_;  // of values
  std::map<int, int> relus_;
};

}  // namespace

Graph make_graph(const Model& model, bool fold) { return GraphBuilder(model, fold).build(); }

Shape shape_of(const Graph& graph, int value) { return value == 0 ? graph.input : graph.nodes.at(value - 1).shape; }

bool is_quantised(const GraphNode& node) {
  return (node.op == GraphOp::conv || node.op == GraphOp::linear) && node.inputs[0] != 0;
}

}  // namespace nascent
