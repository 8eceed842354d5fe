// The fused engine against its plain twin, in float and in double; in bf16 too.
#include "nascent/nn/fused_cell.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>

#include "nascent/core/random.h"
#include "nascent/kernels/isa.h"
#include "nascent/kernels/memory.h"
#include "nascent/nn/cell.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/initialiser.h"
#include "nascent/nn/network.h"
#include "nascent/space/genotype.h"
#include "nascent/space/plan.h"
#include "nascent/space/space.h"

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
  at::Tensor inference;  // the output in evaluation mode, without gradients
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
  int plain = 0;        // units that LibTorch computes
  int only = -1;        // the gradient that is asked for, -1: all
  bool frozen = false;  // nothing but the inputs has gradients
};

int plain_units(const kernels::CellProgram& program) {
  return static_cast<int>(std::count_if(program.units.begin(), program.units.end(), [](const kernels::Unit& unit) {
    return unit.kind == kernels::Unit::Kind::plain;
  }));
}

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

Result run(const Case& test, Engine engine, at::ScalarType type, Precision precision = Precision::single) {
  const EngineScope scope(engine);
  const PrecisionScope in_precision(precision);
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
    // As from a stem, and as from another cell.
    const at::ScalarType input_type = precision == Precision::bf16 && i % 2 == 1 ? at::kBFloat16 : type;
    inputs.push_back(random_tensor({test.images, shape.channels, shape.height, shape.width}, 10 + i)
                         .to(input_type)
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
  if (test.frozen) {
    for (at::Tensor& weights : std::vector{mixture.ops, mixture.edges}) {
      if (weights.defined()) weights.requires_grad_(false);
    }
    for (at::Tensor parameter : cell.parameters()) parameter.requires_grad_(false);
  }
  CellContext context{
      .mixture = cell.is_mixed() ? &mixture : nullptr, .drop_path = test.drop_path, .seed = 7, .step = 3, .cell = 1};
  EXPECT_EQ(plain_units(*lower(test.plan, lowering_key(context.mixture, cell.drops(context))).program), test.plain);
  Result result;
  const size_t before = kernels::block_bytes_in_use();
  result.output = cell.forward(inputs, context);
  EXPECT_EQ(kernels::block_bytes_in_use() > before, engine == Engine::fused) << "which engine ran?";
  std::vector<std::string> names;
  std::vector<at::Tensor> wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("input" + std::to_string(i));
    wanted.push_back(inputs[i]);
  }
  if (!test.frozen) {
    if (mixture.ops.defined()) names.push_back("ops"), wanted.push_back(mixture.ops);
    if (mixture.edges.defined()) names.push_back("edges"), wanted.push_back(mixture.edges);
    for (const auto& item : cell.named_parameters()) names.push_back(item.key()), wanted.push_back(item.value());
  }
  if (test.only >= 0) {
    names = {names[test.only]};
    wanted = {wanted[test.only]};
  }
  const at::Tensor outer = random_tensor(result.output.sizes(), 30).to(type);
  const auto grads = torch::autograd::grad({result.output}, wanted, {outer}, {}, false, true);
  for (size_t i = 0; i < grads.size(); ++i) {
    result.gradients.emplace_back(names[i], grads[i].defined() ? grads[i] : at::zeros_like(wanted[i]));
  }
  for (const auto& item : cell.named_buffers()) result.buffers.emplace_back(item.key(), item.value());
  cell.eval();
  const at::NoGradGuard no_grad;
  result.inference = cell.forward(inputs, context);
  return result;
}

// The difference in units of the true value, or of a thousandth of the largest gradient where that is more: what batch
// norm makes exactly zero is rounding only.
double difference(const at::Tensor& a, const at::Tensor& truth, double floor) {
  const at::Tensor x = a.detach().to(at::kDouble), y = truth.detach().to(at::kDouble);
  return (x - y).norm().item<double>() / std::max({y.norm().item<double>(), floor, 1e-9});
}

// What roundings to bf16 change an output by, see tests/kernels/cell_run_test.cc; and to gradients, which take another
// way where rounding moves a number across zero or past another one in a max pool, it does what the root of that share
// says. They are measured by the largest.
constexpr double kRounding = 1.0 / 512;
constexpr int kRoundings = 12;

void expect_close_in_bf16(const Case& test, const Result& exact) {
  const Result mine = run(test, Engine::fused, at::kFloat, Precision::bf16);
  double largest = 0;
  for (const auto& [name, gradient] : exact.gradients) largest = std::max(largest, gradient.norm().item<double>());
  const double limit = kRoundings * kRounding, gradient_limit = 4 * std::sqrt(kRounding);
  EXPECT_LT(difference(mine.output, exact.output, 0), limit) << "output in bf16";
  EXPECT_LT(difference(mine.inference, exact.inference, 0), limit) << "output of inference in bf16";
  for (size_t i = 0; i < exact.gradients.size(); ++i) {
    const auto& [name, gradient] = exact.gradients[i];
    EXPECT_LT(difference(mine.gradients[i].second, gradient, largest), gradient_limit) << name << " in bf16";
  }
  // Rounding moves the mean of a batch by a share of the numbers' size, however near to zero it is. A norm's statistics
  // follow one another, the variance behind the mean; of a first batch a tenth has been taken.
  for (size_t i = 0; i < exact.buffers.size(); ++i) {
    const auto& [name, truth] = exact.buffers[i];
    const bool mean = name.ends_with("running_mean");
    const double size = mean ? 0.1 * exact.buffers.at(i + 1).second.sqrt().norm().item<double>() : 0;
    EXPECT_LT(difference(mine.buffers[i].second, truth, size), limit) << name;
  }
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
  // On some CPUs LibTorch's own sums are more exact than on others (half of 1e-5 at worst on Sapphire Rapids), so what
  // the twin loses is no bound by itself below 2e-5: some hundred roundings of a float.
  const double limit = std::max(2e-5, std::min(2 * unavoidable, 5e-5));
  const auto close = [&](const at::Tensor& mine, const at::Tensor& truth, const at::Tensor& plain,
                         const std::string& what) {
    EXPECT_LT(difference(mine, truth, floor), std::max(limit, 4 * difference(plain, truth, floor))) << what;
  };
  close(fused.output, exact.output, twin.output, "output");
  close(fused.inference, exact.inference, twin.inference, "output in inference");
  for (size_t i = 0; i < exact.gradients.size(); ++i)
    close(fused.gradients[i].second, exact.gradients[i].second, twin.gradients[i].second,
          "gradient of " + exact.gradients[i].first);
  for (size_t i = 0; i < exact.buffers.size(); ++i)
    close(fused.buffers[i].second, exact.buffers[i].second, twin.buffers[i].second, exact.buffers[i].first);
  // Of few numbers, the share that takes another way may be large.
  constexpr int kEnough = 8;
  Case larger = test;
  larger.images = std::max(test.images, kEnough);
  expect_close_in_bf16(larger, run(larger, Engine::reference, at::kDouble));
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

// Vectors that hold several pixels, and what is left of a row behind them.
TEST(FusedCell, FewChannelsInLongRows) {
  for (const int channels : {3, 4, 8})
    expect_same(fmt::format("darts C={}", channels), supernet_cells("darts", channels, {3, 5, 37}));
  expect_same("K=4", supernet_cells("darts", 16, {3, 6, 20}, 4));
}

// Windows of pools that reach over both edges at once.
TEST(FusedCell, NarrowImages) {
  for (const Shape& input : {Shape{3, 1, 9}, Shape{3, 9, 1}, Shape{3, 2, 3}, Shape{3, 3, 2}}) {
    expect_same(fmt::format("darts {}x{}", input.height, input.width), {supernet_cells("darts", 6, input).front()},
                [](Case& test) { test.images = 6; });
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
  for (const CellPlan& cell : plan.cells) engine += multiply_adds(*lower(cell, lowering_key(&mixture, false)).program);
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

// As in attacks: where nothing but inputs has gradients, norms become part of weights in evaluation mode, and hardly
// anything is kept.
void freeze(Case& test) {
  test.training = false;
  test.frozen = true;
}

TEST(FusedCell, GradientsOfInputsAlone) {
  for (const int channels : {1, 3, 7, 16})
    expect_same(fmt::format("darts C={}", channels), supernet_cells("darts", channels, {3, 9, 6}), freeze);
  for (const std::string space :
       {"darts-s1", "darts-s2", "nasbench201", "nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"}) {
    expect_same(space, supernet_cells(space, 6, {3, 8, 6}), [](Case& test) {
      freeze(test);
      test.weighted_edges = true;
    });
  }
  expect_same("K=4", supernet_cells("darts", 16, {3, 8, 7}, 4), freeze);
  expect_same("K=3 on NAS-Bench-201", supernet_cells("nasbench201", 9, {3, 6, 6}, 3), freeze);
  expect_same("in training mode", {supernet_cells("darts", 8, {3, 8, 8}).front()}, [](Case& test) {
    freeze(test);
    test.training = true;
  });
}

TEST(FusedCell, GradientsOfInputsAloneOfDerivedNetworks) {
  for (const std::string name : {"darts-v2", "snas"})
    expect_same(name, network_cells("darts", find_genotype(name), 9, {3, 8, 8}), freeze);
  expect_same("NASNet", network_cells("nasnet", find_genotype("nasnet"), 4, {3, 10, 8}), freeze);
  expect_same("drop-path", network_cells("darts", find_genotype("darts-v2"), 8, {3, 8, 8}), [](Case& test) {
    freeze(test);
    test.drop_path = 0.3;
    test.images = 4;
  });
  RandomStream random(1, "frozen");
  for (const auto& [space, channels] : {std::pair("nasbench101", 10), {"nasbench201", 16}, {"darts", 12}}) {
    for (int sample = 0; sample < 3; ++sample)
      expect_same(space, network_cells(space, find_space(space)->sample(random), channels, {3, 12, 8}), freeze);
  }
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
  const Case other{.name = "other", .plan = supernet_cells("nasbench201", 16, {3, 9, 9}).front()};
  for (const Precision precision : {Precision::single, Precision::bf16}) {
    const Result first = run(test, Engine::fused, at::kFloat, precision);
    run(other, Engine::fused, at::kFloat, precision);
    const Result second = run(test, Engine::fused, at::kFloat, precision);
    EXPECT_TRUE(at::equal(first.output, second.output));
    for (size_t i = 0; i < first.gradients.size(); ++i)
      EXPECT_TRUE(at::equal(first.gradients[i].second, second.gradients[i].second)) << first.gradients[i].first;
  }
  at::set_num_threads(before);
}

// Whole supernets, where what is rounded in one cell goes through the others: the direction of a step stays. With
// images and labels of noise, 16 of them, gradients are differences of nearly equal numbers, which is the worst case:
// of the eight cells of DARTS 0.91 was seen (weights) and 0.94 (architecture), elsewhere 0.96 and more, on every
// instruction set.
TEST(FusedCell, GradientsOfSupernetsInBf16PointWhereThoseInFloatPoint) {
  struct Supernet {
    const char* name;
    int partial;
    double cosine;
  };
  for (const auto& [name, partial, least] :
       {Supernet{"darts", 1, 0.88}, {"darts", 4, 0.96}, {"nasbench201", 1, 0.94}}) {
    const auto space = find_space(name);
    const int cells = space->skeleton() == "darts" ? 8 : 2;
    Network network(plan_supernet(*space, {.channels = 16, .cells = cells, .partial = partial}, {3, 32, 32}, 10), 1);
    const at::Tensor images = random_tensor({16, 3, 32, 32}, 1), labels = at::arange(16).remainder(10);
    Mixture mixture;
    std::vector<at::Tensor> architecture;
    for (const CellChoices& cell : space->cells()) {
      const auto ops = static_cast<int64_t>(space->ops().size());
      mixture[cell.type].ops = at::softmax(random_tensor({Space::sites(cell), ops}, 2), 1).requires_grad_();
      architecture.push_back(mixture[cell.type].ops);
    }
    for (const bool weights : {true, false}) {
      std::vector<at::Tensor> flat;
      for (const Precision precision : {Precision::single, Precision::bf16}) {
        const PrecisionScope scope(precision);
        const at::Tensor loss = at::cross_entropy_loss(network.forward(images, {.mixture = &mixture}).logits, labels);
        const auto found =
            torch::autograd::grad({loss}, weights ? network.parameters() : architecture, {}, {}, false, true);
        std::vector<at::Tensor> parts;
        for (const at::Tensor& gradient : found) {
          if (gradient.defined()) parts.push_back(gradient.flatten().to(at::kDouble));
        }
        flat.push_back(at::cat(parts));
      }
      const double cosine = (flat[0].dot(flat[1]) / (flat[0].norm() * flat[1].norm())).item<double>();
      EXPECT_GT(cosine, least) << name << ", K=" << partial << (weights ? ", weights" : ", architecture");
    }
  }
}

// A weight that is not a number shows in the logits, whichever it is: a ReLU that made a 0 of it would let a broken
// training go on.
void expect_to_reach_the_logits() {
  const auto space = find_space("darts");
  Network network(plan_network(*space, find_genotype("darts-v2"), {.channels = 8, .cells = 3}, {3, 12, 12}, 10), 1);
  const at::Tensor images = random_tensor({2, 3, 12, 12}, 1);
  for (const bool training : {false, true}) {  // running statistics are spoilt in training
    network.train(training);
    for (auto& parameter : network.named_parameters()) {
      if (parameter.value().dim() != 4) continue;
      const at::Tensor first = parameter.value().flatten()[0], before = first.clone();
      first.fill_(NAN);
      EXPECT_TRUE(network.forward(images).logits.isnan().any().item<bool>()) << parameter.key();
      first.copy_(before);
    }
  }
}

TEST(FusedCell, WhatIsNotANumberReachesTheLogits) {
  const at::NoGradGuard no_grad;
  const std::string before = kernels::isa();
  for (const std::string& name : kernels::supported_isas()) {
    kernels::use_isa(name);
    for (const Precision precision : {Precision::single, Precision::bf16}) {
      SCOPED_TRACE(name + (precision == Precision::bf16 ? " in bf16" : " in float"));
      const PrecisionScope scope(precision);
      expect_to_reach_the_logits();
    }
  }
  kernels::use_isa(before);
}

Stage grouped_conv(int channels, int stride = 1) { return stage::conv(channels, channels, 3, stride, 1, 1, 2); }

Stage biased_conv(int channels) {
  Stage conv = stage::conv(channels, channels, 1);
  conv.bias = true;
  return conv;
}

// Operations on `c` channels that have no fused form.
std::vector<std::pair<std::string, Stages>> plain_operations(int c) {
  using namespace stage;
  return {{"grouped convolution", {relu(c), grouped_conv(c), batch_norm(c)}},
          {"several outputs per group", {conv(c, 2 * c, 3, 1, 1, 1, c), conv(2 * c, c, 1), batch_norm(c)}},
          {"bias", {biased_conv(c), batch_norm(c)}},
          {"a state is normalised", {batch_norm(c), relu(c), conv(c, c, 3), batch_norm(c, false)}},
          {"nothing but a norm", {batch_norm(c)}},
          {"nothing but relu", {relu(c)}},
          {"relu behind a convolution", {conv(c, c, 3), relu(c)}},
          {"norm behind relu", {conv(c, c, 3), relu(c), batch_norm(c)}},
          {"two norms", {conv(c, c, 3), batch_norm(c), batch_norm(c)}},
          {"pool of what is normalised", {conv(c, c, 1), batch_norm(c), max_pool(c, 3, 1, 1)}},
          {"other sizes in between", {conv(c, c, 3, 1, 0), conv(c, c, 3, 1, 2), batch_norm(c)}},
          {"some channels", {conv(c, c + 2, 1), truncate(c + 2, c)}}};
}

// Two inputs, of which the second is a state as it is, and two nodes. Every edge mixes something fused with `other`.
CellPlan cell_with(const Stages& other, int c = 6) {
  const Stages known = {stage::relu(c), stage::conv(c, c, 3), stage::batch_norm(c)};
  const Shape shape{c, 7, 5};
  CellPlan plan{.type = "normal", .input_shapes = {shape, shape}};
  plan.preprocess = {{stage::relu(c), stage::conv(c, c, 1), stage::batch_norm(c)}, {}};
  const auto edge = [&](int from, int site) {
    return EdgePlan{.from = from, .ops = {"known", "other"}, .candidates = {known, other}, .site = site, .edge = site};
  };
  plan.nodes = {{.edges = {edge(0, 0), edge(1, 1)}}, {.edges = {edge(2, 2)}}};
  plan.output = {2, 3};
  plan.output_shape = {2 * c, 7, 5};
  return plan;
}

TEST(FusedCell, OnlyWhatHasNoFusedFormIsPlain) {
  CellMixture mixture;
  mixture.ops = at::ones({3, 2});
  for (const auto& [name, stages] : plain_operations(6)) {
    const LoweredCell lowered = lower(cell_with(stages), lowering_key(&mixture, false));
    const kernels::CellProgram& program = *lowered.program;
    EXPECT_EQ(plain_units(program), 3) << name;
    EXPECT_EQ(program.units.size(), 3u + 4u) << name;  // the others: the preprocessing and one per edge
  }
}

TEST(FusedCell, PlainOperationsInAFusedCell) {
  for (const auto& [name, stages] : plain_operations(6)) {
    for (const bool training : {true, false})
      expect_same({.name = name, .plan = cell_with(stages), .training = training, .weighted_edges = true, .plain = 3});
  }
  const Stages grouped = {grouped_conv(16), stage::batch_norm(16)};
  expect_same(
      {.name = "whole vectors, drop-path", .plan = cell_with(grouped, 16), .images = 5, .drop_path = 0.3, .plain = 3});
  expect_same({.name = "weights per image", .plan = cell_with(grouped, 16), .per_image = true, .plain = 3});
  expect_same({.name = "sampled", .plan = cell_with(grouped, 16), .active = {{1}, {0}, {0, 1}}, .plain = 2});
}

TEST(FusedCell, GradientsOfInputsAloneThroughPlainOperations) {
  for (const auto& [name, stages] : plain_operations(6))
    expect_same({.name = name, .plan = cell_with(stages), .training = false, .plain = 3, .frozen = true});
}

TEST(FusedCell, PlainPreprocessingShortcutAndBypass) {
  const int c = 6;
  const Stages known = {stage::relu(c), stage::conv(c, c, 3), stage::batch_norm(c)};
  for (const bool training : {true, false}) {
    CellPlan preprocessed = cell_with(known);
    preprocessed.preprocess = {{stage::batch_norm(c)}, {biased_conv(c)}};
    expect_same({.name = "preprocessing", .plan = preprocessed, .training = training, .plain = 2});
    for (EdgePlan& edge : preprocessed.nodes[0].edges) edge.candidates[1] = {stage::batch_norm(c)};
    expect_same({.name = "plain on plain", .plan = preprocessed, .training = training, .plain = 4});

    CellPlan with_shortcut = cell_with(known);
    with_shortcut.output_shape = {2 * c, 7, 5};
    with_shortcut.shortcut = {stage::conv(c, 2 * c, 1, 1, 0, 1, 2)};
    expect_same({.name = "shortcut", .plan = with_shortcut, .training = training, .plain = 1});

    CellPlan partial = cell_with({stage::batch_norm(c / 3)});
    for (NodePlan& node : partial.nodes) {
      for (EdgePlan& edge : node.edges) {
        edge.partial = 3;
        edge.candidates[0] = {stage::conv(c / 3, c / 3, 3), stage::batch_norm(c / 3)};
        edge.bypass = {stage::batch_norm(c - c / 3)};
      }
    }
    expect_same({.name = "bypass", .plan = partial, .training = training, .plain = 6});
  }
}

TEST(FusedCell, PlainOperationsWithAStride) {
  CellPlan plan{.type = "reduction", .input_shapes = {{6, 7, 5}}, .preprocess = {{}}};
  const std::vector<Stages> candidates = {{stage::relu(6), stage::conv(6, 6, 3, 2), stage::batch_norm(6)},
                                          {grouped_conv(6, 2), stage::batch_norm(6)}};
  plan.nodes = {{.edges = {{.from = 0, .ops = {"known", "other"}, .candidates = candidates, .site = 0}}}};
  plan.output = {1};
  plan.output_shape = {6, 4, 3};
  expect_same({.name = "stride 2", .plan = plan, .images = 3, .plain = 1});
}

// States that no mixture makes: inputs, and what one unit makes of them.
TEST(FusedCell, StatesAreOutputsAsTheyAre) {
  const int c = 6;
  CellPlan plan = cell_with({stage::conv(c, c, 3), stage::batch_norm(c)});
  plan.preprocess[0] = {stage::conv(c, c, 3)};
  plan.output = {0, 1, 3};
  plan.output_shape = {3 * c, 7, 5};
  plan.shortcut = {stage::conv(c, 3 * c, 1)};
  expect_same({.name = "outputs", .plan = plan});
}

// The cells of NAS-Bench-101 pass on some channels of their vertices.
TEST(FusedCell, NasBench101) {
  const auto space = find_space("nasbench101");
  for (uint64_t seed = 0; seed < 5; ++seed) {
    RandomStream random(seed, "fused 101");
    expect_same(fmt::format("sample {}", seed), network_cells("nasbench101", space->sample(random), 10, {3, 9, 7}));
  }
}

// A pool whose result is normalised for a unit was shared with edges that read it otherwise.
TEST(FusedCell, PoolsInFrontOfUnitsAreNotShared) {
  const int c = 6;
  const Stage pool = stage::avg_pool(c, 3, 1, 1), conv = stage::conv(c, c, 3), norm = stage::batch_norm(c);
  CellPlan plan = cell_with({pool, norm, conv, norm});
  plan.nodes[0].edges[1].from = 0;
  plan.nodes[0].edges[0].candidates[0] = {pool, norm};
  plan.nodes[0].edges[1].candidates[0] = {pool, conv};
  expect_same({.name = "pools", .plan = plan});
}

// What is not wanted is not computed, and nothing else changes.
TEST(FusedCell, OneGradientAtATime) {
  CellPlan plan = cell_with({grouped_conv(6), stage::batch_norm(6)});
  plan.preprocess = {{stage::batch_norm(6)}, {stage::relu(6)}};
  Case test{.name = "one", .plan = plan, .weighted_edges = true, .plain = 5};
  const Result all = run(test, Engine::fused, at::kFloat);
  for (size_t i = 0; i < all.gradients.size(); ++i) {
    test.only = static_cast<int>(i);
    const auto [name, gradient] = run(test, Engine::fused, at::kFloat).gradients.at(0);
    EXPECT_EQ(name, all.gradients[i].first);
    EXPECT_LT(difference(gradient, all.gradients[i].second, 1e-3), 1e-5) << name;
  }
}

TEST(FusedCell, InferenceWithPlainOperations) {
  const at::NoGradGuard no_grad;
  for (const bool training : {true, false}) {
    std::vector<at::Tensor> outputs;
    for (const Engine engine : {Engine::fused, Engine::reference}) {
      const EngineScope scope(engine);
      Cell cell(cell_with({grouped_conv(6), stage::batch_norm(6)}));
      initialise(cell, 5, "torch");
      cell.train(training);
      CellMixture mixture;
      mixture.ops = at::softmax(random_tensor({3, 2}, 2), 1);
      const std::vector<at::Tensor> inputs = {random_tensor({3, 6, 7, 5}, 1), random_tensor({3, 6, 7, 5}, 2)};
      outputs.push_back(cell.forward(inputs, {.mixture = &mixture}));
      for (const auto& buffer : cell.named_buffers()) outputs.push_back(buffer.value());
    }
    for (size_t i = 0; i < outputs.size() / 2; ++i)
      EXPECT_LT(difference(outputs[i], outputs[outputs.size() / 2 + i], 0), 1e-5) << i;
  }
}

std::vector<at::Tensor> random_inputs(const CellPlan& plan) {
  std::vector<at::Tensor> inputs;
  for (const Shape& shape : plan.input_shapes)
    inputs.push_back(random_tensor({4, shape.channels, shape.height, shape.width}, 1 + inputs.size()).requires_grad_());
  return inputs;
}

// The first pass uses up what was kept for it; a second one comes from the plain twin.
TEST(FusedCell, ARetainedGraphCanBePassedAgain) {
  const EngineScope scope(Engine::fused);
  const CellPlan plan = supernet_cells("darts", 8, {3, 8, 8}).front();
  Cell cell(plan);
  initialise(cell, 5, "torch");
  const std::vector<at::Tensor> inputs = random_inputs(plan);
  CellMixture mixture;
  mixture.ops = at::softmax(random_tensor({sites_of(plan), ops_of(plan)}, 2), 1).requires_grad_();
  const at::Tensor loss = cell.forward(inputs, {.mixture = &mixture}).square().sum();
  const size_t held = kernels::block_bytes_in_use();
  const at::Tensor first = torch::autograd::grad({loss}, {mixture.ops}, {}, /*retain_graph=*/true)[0];
  EXPECT_LT(kernels::block_bytes_in_use(), held);
  const at::Tensor second = torch::autograd::grad({loss}, {mixture.ops})[0];
  EXPECT_LT(difference(second, first, 0), 1e-4);
}

// The backward pass does not read the output: who writes into it gets the gradients all the same.
TEST(FusedCell, TheOutputMayBeWrittenTo) {
  const CellPlan plan = supernet_cells("darts", 8, {3, 8, 8}).front();
  std::vector<at::Tensor> gradients;
  for (const Engine engine : {Engine::fused, Engine::reference}) {
    const EngineScope scope(engine);
    Cell cell(plan);
    initialise(cell, 5, "torch");
    const std::vector<at::Tensor> inputs = random_inputs(plan);
    CellMixture mixture;
    mixture.ops = at::softmax(random_tensor({sites_of(plan), ops_of(plan)}, 2), 1).requires_grad_();
    at::Tensor output = cell.forward(inputs, {.mixture = &mixture});
    output.mul_(2);
    gradients.push_back(torch::autograd::grad({output.square().sum()}, {mixture.ops})[0]);
  }
  EXPECT_LT(difference(gradients[0], gradients[1], 0), 1e-4);
}

// A gradient that is to be differentiated again comes from the plain twin, without being asked for.
TEST(FusedCell, SecondDerivatives) {
  for (const CellPlan& plan :
       {supernet_cells("nasbench201", 6, {3, 7, 5}).front(), cell_with({grouped_conv(6), stage::batch_norm(6)})}) {
    std::vector<at::Tensor> results;
    for (const Engine engine : {Engine::fused, Engine::reference}) {
      const EngineScope scope(engine);
      Cell cell(plan);
      initialise(cell, 5, "torch");
      const std::vector<at::Tensor> inputs = random_inputs(plan);
      CellMixture mixture;
      mixture.ops = at::softmax(random_tensor({sites_of(plan), ops_of(plan)}, 2), 1).requires_grad_();
      const at::Tensor output = cell.forward(inputs, {.mixture = &mixture});
      const auto first = torch::autograd::grad({output.square().sum()}, cell.parameters(), {}, true, true);
      at::Tensor norm = at::zeros({});
      for (const at::Tensor& gradient : first) norm = norm + gradient.square().sum();
      results.push_back(torch::autograd::grad({norm}, {mixture.ops})[0]);
      for (const auto& buffer : cell.named_buffers()) results.push_back(buffer.value());
    }
    for (size_t i = 0; i < results.size() / 2; ++i)
      EXPECT_LT(difference(results[i], results[results.size() / 2 + i], 0), 1e-4) << i;
  }
}

}  // namespace
}  // namespace nascent
