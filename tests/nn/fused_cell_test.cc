// The fused engine against its plain twin, in float and in double.
#include "nn/fused_cell.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "core/random.h"
#include "nn/cell.h"
#include "nn/engine.h"
#include "nn/initialiser.h"
#include "nn/network.h"
#include "space/operation.h"
#include "space/plan.h"
#include "space/space.h"

namespace nascent {
namespace {

at::Tensor random_tensor(at::IntArrayRef sizes, uint64_t seed) {
  RandomStream random(seed, "fused-cell-test", {});
  at::Tensor tensor = at::empty(sizes);
  float* data = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = static_cast<float>(random.normal());
  return tensor;
}

// Everything that a pass through a cell gives.
struct Result {
  at::Tensor output;
  std::vector<std::pair<std::string, at::Tensor>> gradients;
  std::vector<std::pair<std::string, at::Tensor>> buffers;
};

struct Case {
  std::string name;
  CellPlan plan;
  int images = 2;
  bool training = true;
  bool per_image = false;
  bool weighted_edges = false;
  double drop_path = 0;
  std::vector<std::vector<int>> active{};
};

int sites_of(const CellPlan& plan) {
  int sites = 0;
  for (const NodePlan& node : plan.nodes) {
    sites = std::max(sites, node.site + 1);
    for (const EdgePlan& edge : node.edges) sites = std::max(sites, edge.site + 1);
  }
  return sites;
}

int edges_of(const CellPlan& plan) {
  int edges = plan.shortcut_edge + 1;
  for (const int edge : plan.output_edges) edges = std::max(edges, edge + 1);
  for (const NodePlan& node : plan.nodes) {
    for (const EdgePlan& edge : node.edges) edges = std::max(edges, edge.edge + 1);
  }
  return edges;
}

int ops_of(const CellPlan& plan) {
  for (const NodePlan& node : plan.nodes) {
    if (node.site >= 0) return static_cast<int>(node.candidates.size());
    for (const EdgePlan& edge : node.edges) {
      if (edge.site >= 0) return static_cast<int>(edge.candidates.size());
    }
  }
  return 0;
}

Result run(const Case& test, Engine engine, at::ScalarType type) {
  const EngineScope scope(engine);
  Cell cell(test.plan);
  initialise(cell, 5, "torch");
  for (const auto& item : cell.named_parameters()) {  // scales and shifts that are not 1 and 0
    if (item.value().dim() == 1) {
      const at::NoGradGuard no_grad;
      item.value().add_(random_tensor(item.value().sizes(), item.key().size()) * 0.3);
    }
  }
  for (const auto& item : cell.named_buffers()) item.value().add_(random_tensor(item.value().sizes(), 3).abs() * 0.1);
  cell.to(type);
  cell.train(test.training);
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < test.plan.input_shapes.size(); ++i) {
    const Shape& shape = test.plan.input_shapes[i];
    inputs.push_back(random_tensor({test.images, shape.channels, shape.height, shape.width}, 10 + i)
                         .to(type)
                         .contiguous(at::MemoryFormat::ChannelsLast)
                         .requires_grad_());
  }
  CellMixture mixture;
  const int sites = sites_of(test.plan), ops = ops_of(test.plan), edges = edges_of(test.plan);
  if (sites > 0) {
    const at::Tensor logits = test.per_image ? random_tensor({sites, ops, test.images}, 20) : random_tensor({sites, ops}, 20);
    mixture.ops = at::softmax(logits, 1).to(type).requires_grad_();
  }
  if (edges > 0 && test.weighted_edges) mixture.edges = random_tensor({edges}, 21).abs().to(type).requires_grad_();
  mixture.active = test.active;
  CellContext context{.mixture = cell.is_mixed() ? &mixture : nullptr, .drop_path = test.drop_path, .seed = 7, .step = 3, .cell = 1};
  Result result;
  result.output = cell.forward(inputs, context);
  std::vector<std::string> names;
  std::vector<at::Tensor> wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("input" + std::to_string(i));
    wanted.push_back(inputs[i]);
  }
  if (mixture.ops.defined()) names.push_back("ops"), wanted.push_back(mixture.ops);
  if (mixture.edges.defined()) names.push_back("edges"), wanted.push_back(mixture.edges);
  for (const auto& item : cell.named_parameters()) names.push_back(item.key()), wanted.push_back(item.value());
  const at::Tensor outer = random_tensor(result.output.sizes(), 30).to(type);
  const auto grads = torch::autograd::grad({result.output}, wanted, {outer}, {}, false, true);
  for (size_t i = 0; i < grads.size(); ++i) {
    result.gradients.emplace_back(names[i], grads[i].defined() ? grads[i] : at::zeros_like(wanted[i]));
  }
  for (const auto& item : cell.named_buffers()) result.buffers.emplace_back(item.key(), item.value());
  return result;
}

// The difference in units of the true value, or of a thousandth of the largest gradient where that is more: what batch
// norm makes exactly zero is rounding only.
double difference(const at::Tensor& a, const at::Tensor& truth, double floor) {
  const at::Tensor x = a.detach().to(at::kDouble), y = truth.detach().to(at::kDouble);
  return (x - y).norm().item<double>() / std::max({y.norm().item<double>(), floor, 1e-9});
}

// Gradients behind batch norms are differences of nearly equal numbers where there are few pixels; the twin in float
// shows how much of that is unavoidable.
void expect_same(const Case& test) {
  SCOPED_TRACE(test.name);
  const Result exact = run(test, Engine::reference, at::kDouble), twin = run(test, Engine::reference, at::kFloat),
               fused = run(test, Engine::fused, at::kFloat);
  ASSERT_EQ(fused.output.sizes(), exact.output.sizes());
  double floor = 0;
  for (const auto& [name, gradient] : exact.gradients) floor = std::max(floor, 1e-3 * gradient.norm().item<double>());
  const auto close = [&](const at::Tensor& mine, const at::Tensor& truth, const at::Tensor& plain,
                         const std::string& what) {
    EXPECT_LT(difference(mine, truth, floor), std::max(1e-5, 4 * difference(plain, truth, floor))) << what;
  };
  close(fused.output, exact.output, twin.output, "output");
  for (size_t i = 0; i < exact.gradients.size(); ++i)
    close(fused.gradients[i].second, exact.gradients[i].second, twin.gradients[i].second,
          "gradient of " + exact.gradients[i].first);
  for (size_t i = 0; i < exact.buffers.size(); ++i)
    close(fused.buffers[i].second, exact.buffers[i].second, twin.buffers[i].second, exact.buffers[i].first);
}

CellPlan cell_of(const std::string& space, int channels, Shape input, bool reduction, int partial = 1) {
  const auto found = find_space(space);
  const NetworkPlan plan = plan_supernet(*found, {.channels = channels, .cells = space.rfind("darts", 0) == 0 ? 3 : 1, .partial = partial}, input, 10);
  for (const CellPlan& cell : plan.cells) {
    if (!cell.type.empty() && cell.reduction == reduction) return cell;
  }
  return plan.cells.front();
}

TEST(FusedCell, DartsSupernetCellsEqualTheirTwin) {
  for (const int channels : {1, 3, 7, 16}) {
    expect_same({.name = "normal, " + std::to_string(channels), .plan = cell_of("darts", channels, {3, 9, 6}, false)});
    expect_same({.name = "reduction, " + std::to_string(channels), .plan = cell_of("darts", std::max(1, channels / 2), {3, 9, 7}, true)});
  }
}

}  // namespace
}  // namespace nascent
