// What is true of every kind of stage and of every operation, whoever registered it: it has all its parts, it is saved,
// and the tape computes what the network computes.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "nascent/core/files.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/layer_rule.h"
#include "nascent/score/curvature.h"
#include "nascent/score/gradient_moments.h"
#include "nascent/score/tape_rule.h"
#include "nascent/space/cell_plan.h"
#include "nascent/space/operation.h"
#include "nascent/space/plan_check.h"
#include "nascent/train/plan_json.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::autograd_values;
using testing_score::flat;
using testing_score::flat_gradient;
using testing_score::sample_images;

constexpr Shape kInput{3, 9, 8};
constexpr int kChannels = 6, kClasses = 4, kImages = 5;

// A stage or several that show each kind at work on 6 channels. A new kind of stage needs an example here.
std::map<std::string, Stages> examples() {
  Stage biased = stage::conv(kChannels, 4, 3);
  biased.bias = true;
  return {{"relu", {stage::relu(kChannels)}},
          {"conv", {biased, stage::conv(4, kChannels, 3, 2, -1, 2, 2)}},
          {"batch_norm", {stage::batch_norm(kChannels), stage::batch_norm(kChannels, false)}},
          {"max_pool", {stage::max_pool(kChannels, 3, 2, 1)}},
          {"avg_pool", {stage::avg_pool(kChannels, 3, 1, 1), stage::avg_pool(kChannels, 2, 2, 1)}},
          {"factorized_reduce", {stage::factorized_reduce(kChannels, 5)}},
          {"zero", {stage::zero(kChannels, kChannels, 1), biased, stage::conv(4, kChannels, 1)}},
          {"truncate", {stage::truncate(kChannels, 4)}},
          {"global_avg_pool", {}},  // in every head
          {"linear", {}},
          {"hard_swish", {{.kind = stage_kind("hard_swish"), .in = kChannels, .out = kChannels}}}};
}

NetworkPlan network_of(const Stages& stages) {
  NetworkPlan plan{.space = "none", .skeleton = "none", .input = kInput, .classes = kClasses};
  plan.stems = {{stage::conv(kInput.channels, kChannels, 3), stage::batch_norm(kChannels)}};
  const Shape state{kChannels, kInput.height, kInput.width};
  std::vector<Stages> branches = {stages};
  if (output_shape(stages, state) == state) branches.push_back({});
  plan.cells = {plan_fixed_block(state, branches, false)};
  const int features = plan.cells[0].output_shape.channels;
  plan.head = {stage::global_avg_pool(features), stage::linear(features, kClasses)};
  check_plan(plan);
  return plan;
}

at::Tensor labels() { return at::tensor({0, 1, 2, 3, 1}, at::kLong); }

// In double precision, with every parameter and statistic somewhere else than at its start.
std::unique_ptr<Network> shaken(const NetworkPlan& plan) {
  auto network = std::make_unique<Network>(plan, 1, "torch");
  network->to(torch::kDouble);
  at::NoGradGuard no_grad;
  uint64_t seed = 1;
  for (auto& item : network->named_parameters()) {
    if (item.value().dim() == 1)
      item.value().add_(0.3 * testing_nn::normal_tensor(item.value().sizes(), ++seed, at::kDouble));
  }
  for (auto& item : network->named_buffers()) item.value().add_(0.2);
  return network;
}

void expect_tape_equals_network(const Stages& stages) {
  const at::Tensor images = sample_images(kInput, kImages, 5, at::kDouble);
  for (const bool training : {true, false}) {
    const auto network = shaken(network_of(stages));
    network->train(training);
    const Tape tape(*network);
    const Trace trace = forward(tape, images);
    const at::Tensor logits = network->forward(images).logits;
    if (!tape.is_connected()) {  // nothing reaches the logits: one constant for all images
      EXPECT_TRUE(training && at::allclose(logits, logits[0].expand_as(logits)));
      continue;
    }
    ASSERT_LT((trace.values[tape.logits()] - logits).abs().max().item<double>(), 1e-9) << "training " << training;
    const at::Tensor loss = at::cross_entropy_loss(logits, labels(), {}, at::Reduction::Sum);
    const at::Tensor seed = cross_entropy_seed(trace.values[tape.logits()], labels());
    std::map<std::string, at::Tensor> found;
    const auto sum_into = [&](const std::string& name, at::IntArrayRef sizes, int64_t first,
                              const at::Tensor& numbers) {
      at::Tensor& sum = found.try_emplace(name, at::zeros(sizes, at::kDouble)).first->second;
      sum.view({-1}).narrow(0, first, numbers.numel()).add_(numbers.reshape({-1}));
    };
    if (training) {
      backward(tape, trace, seed, Statistics::coupled, [&](size_t i, const at::Tensor& gradient) {
        const Step& step = tape.steps()[i];
        std::vector<int64_t> sizes = step.weight.sizes().vec();
        sizes[0] = tape.rows(step.layer);
        const int64_t per_row = step.weight.numel() / step.weight.size(0);
        sum_into(tape.layers()[step.layer] + ".weight", sizes, step.first_row * per_row,
                 weight_gradient(step, trace.values[step.in[0]], gradient));
      });
    } else {
      for_each_sample_gradient(tape, trace, seed, [&](const ParameterPiece& piece) {
        sum_into(piece.parameter, piece.sizes, piece.first, piece.in_order(piece.gradients.sum(0)));
      });
    }
    EXPECT_FALSE(found.empty());
    for (const auto& item : network->named_parameters()) {
      const auto gradient = torch::autograd::grad({loss}, {item.value()}, {}, true, false, true)[0];
      const bool weight = item.value().dim() > 1;
      if (!found.contains(item.key())) {
        EXPECT_TRUE(!gradient.defined() || (training && !weight) || gradient.abs().max().item<double>() < 1e-12)
            << item.key() << ", training " << training;
        continue;
      }
      EXPECT_LT((found[item.key()] - gradient).abs().max().item<double>(), 1e-8)
          << item.key() << ", training " << training;
    }
  }
}

TEST(StageKinds, HaveAllTheirParts) {
  const auto shown = examples();
  for (const StageKind kind : StageKinds::instance().all()) {
    const std::string& name = name_of(kind);
    EXPECT_TRUE(LayerRule::Registry::instance().contains(name)) << "stage '" << name << "' has no LayerRule";
    EXPECT_TRUE(TapeRule::Registry::instance().contains(name)) << "stage '" << name << "' has no TapeRule";
    EXPECT_TRUE(shown.contains(name)) << "stage '" << name << "' has no example in this test";
    EXPECT_EQ(stage_kind(name), kind);
  }
  const auto known = [](const std::string& name) { return name_of(stage_kind(name)) == name; };
  for (const std::string& name : LayerRule::Registry::instance().names()) EXPECT_TRUE(known(name)) << name;
  for (const std::string& name : TapeRule::Registry::instance().names()) EXPECT_TRUE(known(name)) << name;
}

TEST(StageKinds, CountTheParametersOfTheirLayers) {
  for (const auto& [name, stages] : examples()) {
    for (const Stage& stage : stages) {
      int64_t count = 0;
      for (const at::Tensor& parameter : Layer(stage).parameters()) count += parameter.numel();
      EXPECT_EQ(count, stage.parameters()) << name;
    }
  }
}

// Defect 8: a stage added as docs/adding.md said trained to the end and could not be saved.
TEST(StageKinds, AreSavedWithTheirNetworks) {
  for (const auto& [name, stages] : examples()) {
    const NetworkPlan plan = network_of(stages);
    const Json json = to_json(plan);
    const NetworkPlan back = plan_from_json(Json::parse(json.dump()));
    EXPECT_EQ(to_json(back), json) << name;
    EXPECT_EQ(back.cells[0].nodes[0].edges[0].candidates[0], stages) << name;
  }
}

// Defect 7: the tape dropped biases and took stages that it did not know for others.
TEST(StageKinds, AreOnTheTapeWhatTheyAreInTheNetwork) {
  for (const auto& [name, stages] : examples()) {
    SCOPED_TRACE(name);
    expect_tape_equals_network(stages);
  }
}

TEST(Operations, AreOnTheTapeWhatTheyAreInTheNetwork) {
  for (const std::string& name : Operation::Registry::instance().names()) {
    for (const int stride : {1, 2}) {
      SCOPED_TRACE(name + ", stride " + std::to_string(stride));
      expect_tape_equals_network(
          operation_stages(name, {.in = kChannels, .out = kChannels, .stride = stride, .pool_norm = stride == 2}));
    }
  }
}

TEST(StageKinds, TheFusedEngineComputesThemOrLeavesThemToLibTorch) {
  const at::Tensor images = sample_images(kInput, kImages, 5);
  for (const auto& [name, stages] : examples()) {
    Network network(network_of(stages), 1);
    const auto results = [&](Engine engine) {
      const EngineScope scope(engine);
      network.zero_grad();
      const at::Tensor logits = network.forward(images).logits;
      at::cross_entropy_loss(logits, labels()).backward();
      std::vector<at::Tensor> all = {logits.detach()};
      for (const at::Tensor& parameter : network.parameters())
        all.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::zeros_like(parameter));
      return all;
    };
    const auto fused = results(Engine::fused), plain = results(Engine::reference);
    for (size_t i = 0; i < fused.size(); ++i)
      EXPECT_TRUE(at::allclose(fused[i], plain[i], 1e-3, 1e-4)) << name << " " << i;
  }
}

// GraSP's second derivatives through a function that LibTorch differentiates, and past a bias.
TEST(StageKinds, HaveSecondDerivatives) {
  Stage biased = stage::conv(kChannels, kChannels, 3);
  biased.bias = true;
  const Stage swish{.kind = stage_kind("hard_swish"), .in = kChannels, .out = kChannels};
  const auto network = shaken(network_of({swish, biased, stage::batch_norm(kChannels), swish, biased}));
  const Tape tape(*network);
  const at::Tensor images = sample_images(kInput, kImages, 5, at::kDouble);
  const Trace trace = forward(tape, images);
  std::vector<at::Tensor> weights, directions(tape.steps().size());
  for (const Step& step : tape.steps()) {
    if (step.weight.defined()) weights.push_back(step.weight);
  }
  backward(tape, trace, cross_entropy_seed(trace.values[tape.logits()], labels()) / kImages, Statistics::coupled,
           [&](size_t i, const at::Tensor& gradient) {
             directions[i] = weight_gradient(tape.steps()[i], trace.values[tape.steps()[i].in[0]], gradient);
           });
  const at::Tensor loss = at::cross_entropy_loss(autograd_values(tape, images)[tape.logits()], labels());
  const at::Tensor gradient = flat_gradient(loss, weights, /*create_graph=*/true);
  const at::Tensor product = flat_gradient((gradient * gradient.detach()).sum(), weights);
  const double expected = flat(weights).dot(product).item<double>();
  EXPECT_NEAR(gradient_curvature(tape, trace, labels(), directions), expected, 2e-3 * std::abs(expected));
}

TEST(StageKinds, TheExampleInTheDocumentationIsTheOneTestedHere) {
  const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
  const std::string example = read_file(here / "stage_hard_swish.cc"),
                    page = read_file(here.parent_path().parent_path() / "docs" / "adding.md");
  EXPECT_NE(page.find(example.substr(example.find("#include"))), std::string::npos)
      << "docs/adding.md does not show tests/score/stage_hard_swish.cc";
}

}  // namespace
}  // namespace nascent
