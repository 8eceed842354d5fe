// The fused engine against its plain twin, in float and in double.
#include "nn/fused_cell.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>

#include "core/random.h"
#include "kernels/isa.h"
#include "kernels/memory.h"
#include "nn/cell.h"
#include "nn/engine.h"
#include "nn/initialiser.h"
#include "nn/network.h"
#include "space/genotype.h"
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
  bool fusable = true;
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
    const at::Tensor logits =
        test.per_image ? random_tensor({sites, ops, test.images}, 20) : random_tensor({sites, ops}, 20);
    mixture.ops = at::softmax(logits, 1).to(type).requires_grad_();
  }
  if (edges > 0 && test.weighted_edges) mixture.edges = random_tensor({edges}, 21).abs().to(type).requires_grad_();
  mixture.active = test.active;
  CellContext context{
      .mixture = cell.is_mixed() ? &mixture : nullptr, .drop_path = test.drop_path, .seed = 7, .step = 3, .cell = 1};
  EXPECT_EQ(lower(cell, context.mixture, cell.drops(context)).has_value(), test.fusable);
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
// shows how much of that is unavoidable: on the same tensor, or, up to a limit, on the worst one of the cell, because
// which tensor is hit is chance.
void expect_same(const Case& test) {
  SCOPED_TRACE(test.name);
  const Result exact = run(test, Engine::reference, at::kDouble), twin = run(test, Engine::reference, at::kFloat),
               fused = run(test, Engine::fused, at::kFloat);
  ASSERT_EQ(fused.output.sizes(), exact.output.sizes());
  double floor = 0;
  for (const auto& [name, gradient] : exact.gradients) floor = std::max(floor, 1e-3 * gradient.norm().item<double>());
  double unavoidable = 0;
  for (size_t i = 0; i < exact.gradients.size(); ++i)
    unavoidable = std::max(unavoidable, difference(twin.gradients[i].second, exact.gradients[i].second, floor));
  const double limit = std::max(1e-5, std::min(2 * unavoidable, 5e-5));
  const auto close = [&](const at::Tensor& mine, const at::Tensor& truth, const at::Tensor& plain,
                         const std::string& what) {
    EXPECT_LT(difference(mine, truth, floor), std::max(limit, 4 * difference(plain, truth, floor))) << what;
  };
  close(fused.output, exact.output, twin.output, "output");
  for (size_t i = 0; i < exact.gradients.size(); ++i)
    close(fused.gradients[i].second, exact.gradients[i].second, twin.gradients[i].second,
          "gradient of " + exact.gradients[i].first);
  for (size_t i = 0; i < exact.buffers.size(); ++i)
    close(fused.buffers[i].second, exact.buffers[i].second, twin.buffers[i].second, exact.buffers[i].first);
}

std::vector<CellPlan> supernet_cells(const std::string& space, int channels, Shape input, int partial = 1) {
  const auto found = find_space(space);
  const int cells = found->own_cells() ? 0 : found->skeleton() == "darts" ? 3 : 1;
  auto plans = plan_supernet(*found, {.channels = channels, .cells = cells, .partial = partial}, input, 10).cells;
  if (found->own_cells()) plans.erase(plans.begin() + 8, plans.end());  // the others are like these
  return plans;
}

std::vector<CellPlan> network_cells(const std::string& space, const Genotype& genotype, int channels, Shape input) {
  const auto found = find_space(space);
  const int cells = found->skeleton() == "darts" ? 3 : 1;
  return plan_network(*found, genotype, {.channels = channels, .cells = cells}, input, 10).cells;
}

// Runs every cell of the list, with `change` applied to the case.
void expect_same(const std::string& name, const std::vector<CellPlan>& cells,
                 const std::function<void(Case&)>& change = {}) {
  for (size_t i = 0; i < cells.size(); ++i) {
    Case test{.name = fmt::format("{}, cell {}", name, i), .plan = cells[i]};
    if (change) change(test);
    expect_same(test);
  }
}

TEST(FusedCell, DartsSupernetEqualsItsTwin) {
  for (const int channels : {1, 3, 7, 16})
    expect_same(fmt::format("darts C={}", channels), supernet_cells("darts", channels, {3, 9, 6}));
}

TEST(FusedCell, ManyChannelsAndOneImage) {
  for (const int channels : {36, 48}) {
    expect_same(fmt::format("darts C={}", channels), {supernet_cells("darts", channels, {3, 5, 4}).front()},
                [](Case& test) { test.images = 1; });
  }
}

// Rows of whole groups of four: 3x3 convolutions go through Winograd's form, in pieces of eight rows.
TEST(FusedCell, WinogradsForm) {
  for (const Shape& input : {Shape{3, 8, 8}, Shape{3, 11, 4}, Shape{3, 1, 16}, Shape{3, 17, 12}}) {
    for (const int channels : {3, 7, 16, 20})
      expect_same(fmt::format("nasbench201 C={} {}x{}", channels, input.height, input.width),
                  supernet_cells("nasbench201", channels, input));
  }
}

// Enough for values to be written past the caches.
TEST(FusedCell, LargeBatch) {
  expect_same({.name = "large", .plan = supernet_cells("darts", 16, {3, 16, 16}).front(), .images = 28});
}

TEST(FusedCell, EverySpaceEqualsItsTwin) {
  for (const std::string space :
       {"darts-s1", "darts-s2", "nasbench201", "nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"}) {
    expect_same(space, supernet_cells(space, 6, {3, 8, 6}), [](Case& test) { test.weighted_edges = true; });
  }
}

TEST(FusedCell, PartialChannels) {
  expect_same("K=4", supernet_cells("darts", 16, {3, 8, 7}, 4), [](Case& test) { test.weighted_edges = true; });
  expect_same("K=2, odd group", supernet_cells("darts", 6, {3, 7, 6}, 2));
  expect_same("K=3 on NAS-Bench-201", supernet_cells("nasbench201", 9, {3, 6, 6}, 3));
}

TEST(FusedCell, CountsTheMultiplyAddsOfItsPlan) {
  const auto space = find_space("darts");
  const NetworkPlan plan = plan_supernet(*space, {.channels = 8, .cells = 3}, {3, 12, 10}, 10);
  CellMixture mixture;
  mixture.ops = at::ones({14, 8});
  double engine = 0;
  for (const CellPlan& cell : plan.cells) engine += multiply_adds(*lower(Cell(cell), &mixture, false)->program);
  NetworkPlan cells_only = plan;
  cells_only.stems.clear();
  cells_only.head.clear();
  EXPECT_EQ(engine, static_cast<double>(count_multiply_adds(cells_only)));
}

// GDAS runs one candidate per edge, PR-DARTS two; a site may also have none.
TEST(FusedCell, SampledCandidates) {
  for (const CellPlan& cell : supernet_cells("darts", 8, {3, 8, 8})) {
    Case test{.name = "sampled", .plan = cell};
    for (int site = 0; site < sites_of(cell); ++site) {
      test.active.push_back({(3 * site + 1) % 8});
      if (site % 3 == 0) test.active.back().push_back((3 * site + 5) % 8);
    }
    test.active[2].clear();
    expect_same(test);
  }
}

TEST(FusedCell, WeightsPerImage) {
  expect_same("per image", supernet_cells("nasbench201", 5, {3, 6, 6}), [](Case& test) {
    test.per_image = true;
    test.images = 3;
  });
}

TEST(FusedCell, EvaluationMode) {
  expect_same("evaluation", supernet_cells("darts", 6, {3, 8, 8}), [](Case& test) { test.training = false; });
}

TEST(FusedCell, DerivedNetworksWithDropPath) {
  const Genotype genotype = find_genotype("darts-v2");
  expect_same("retraining", network_cells("darts", genotype, 9, {3, 8, 8}), [](Case& test) {
    test.drop_path = 0.3;
    test.images = 4;
  });
  expect_same("NASNet", network_cells("nasnet", find_genotype("nasnet"), 4, {3, 10, 8}));
}

TEST(FusedCell, EveryInstructionSetGivesTheSame) {
  const std::string before = kernels::isa();
  for (const std::string& isa : kernels::supported_isas()) {
    kernels::use_isa(isa);
    expect_same(isa, {supernet_cells("darts", 7, {3, 6, 6}).front()});
  }
  kernels::use_isa(before);
}

// The same bytes whatever was computed before, and for one number of threads every time.
TEST(FusedCell, IsDeterministic) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const Case test{.name = "twice", .plan = supernet_cells("darts", 8, {3, 8, 8}).front(), .images = 5};
  const Result first = run(test, Engine::fused, at::kFloat);
  kernels::release_kept_blocks();
  run({.name = "other", .plan = supernet_cells("nasbench201", 16, {3, 9, 9}).front()}, Engine::fused, at::kFloat);
  const Result second = run(test, Engine::fused, at::kFloat);
  EXPECT_TRUE(at::equal(first.output, second.output));
  for (size_t i = 0; i < first.gradients.size(); ++i)
    EXPECT_TRUE(at::equal(first.gradients[i].second, second.gradients[i].second)) << first.gradients[i].first;
  at::set_num_threads(before);
}

// A gradient that is to be differentiated again comes from the plain twin, without being asked for.
TEST(FusedCell, SecondDerivatives) {
  const CellPlan plan = supernet_cells("nasbench201", 4, {3, 6, 6}).front();
  std::vector<at::Tensor> results;
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    const EngineScope scope(engine);
    Cell cell(plan);
    initialise(cell, 5, "torch");
    const at::Tensor input = random_tensor({2, 4, 6, 6}, 1).requires_grad_();
    CellMixture mixture;
    mixture.ops = at::softmax(random_tensor({6, 5}, 2), 1).requires_grad_();
    const at::Tensor output = cell.forward({input}, {.mixture = &mixture});
    const auto first = torch::autograd::grad({output.square().sum()}, cell.parameters(), {}, true, true);
    at::Tensor norm = at::zeros({});
    for (const at::Tensor& gradient : first) norm = norm + gradient.square().sum();
    results.push_back(torch::autograd::grad({norm}, {mixture.ops})[0]);
    for (const auto& buffer : cell.named_buffers()) results.push_back(buffer.value());
  }
  for (size_t i = 0; i < results.size() / 2; ++i)
    EXPECT_LT(difference(results[i], results[results.size() / 2 + i], 0), 1e-4) << i;
}

// An operation that the engine does not know: the whole cell falls back to its twin.
TEST(FusedCell, UnknownOperationsFallBack) {
  Stage grouped = stage::conv(4, 4, 3);
  grouped.groups = 2;
  CellPlan plan{.type = "normal", .input_shapes = {{4, 5, 5}}, .preprocess = {{}}};
  plan.nodes = {{.edges = {{.from = 0, .ops = {"grouped"}, .candidates = {{grouped}}}}}};
  plan.output = {1};
  plan.output_shape = {4, 5, 5};
  expect_same({.name = "grouped", .plan = plan, .fusable = false});
}

}  // namespace
}  // namespace nascent
