#include "nascent/train/optimizer.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>

#include "nascent/core/error.h"

namespace nascent {
namespace {

std::vector<at::Tensor> example_parameters() {
  torch::manual_seed(1);
  std::vector<at::Tensor> parameters = {torch::randn({4, 3}), torch::randn({5}),
                                        torch::randn({2, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast)};
  for (auto& parameter : parameters) parameter.requires_grad_();
  return parameters;
}

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const auto& tensor : tensors) all.push_back(tensor.detach().clone().requires_grad_());
  return all;
}

std::vector<at::Tensor> random_gradients(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : parameters) gradients.push_back(torch::randn_like(parameter.detach()));
  return gradients;
}

// Ten steps beside LibTorch's own optimiser, the learning rate and the set of parameters with a gradient changing.
template <class Reference, class ReferenceOptions>
void compare(const OptimizerOptions& options, ReferenceOptions reference_options) {
  const auto ours = example_parameters(), theirs = copies(ours);
  const auto optimizer = make_optimizer(options, ours);
  Reference reference(theirs, reference_options);
  for (int step = 0; step < 10; ++step) {
    auto gradients = random_gradients(ours);
    if (step % 3 == 1) gradients[1] = at::Tensor();
    for (size_t i = 0; i < theirs.size(); ++i) at::Tensor(theirs[i]).mutable_grad() = gradients[i];
    const double lr = 0.1 / (1 + step);
    static_cast<ReferenceOptions&>(reference.param_groups()[0].options()).lr(lr);
    optimizer->step(gradients, lr);
    reference.step();
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(torch::allclose(ours[i], theirs[i], 1e-6, 1e-6)) << "step " << step << ", parameter " << i;
    }
  }
}

OptimizerOptions options_of(const std::string& name) {
  OptimizerOptions options;
  options.optimizer = name;
  return options;
}

TEST(Sgd, AgreesWithLibTorch) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double decay : {0.0, 0.05}) {
      auto options = options_of("sgd");
      options.momentum = momentum;
      options.weight_decay = decay;
      compare<torch::optim::SGD>(options, torch::optim::SGDOptions(1).momentum(momentum).weight_decay(decay));
    }
  }
}

TEST(Sgd, AgreesWithLibTorchWithNesterov) {
  auto options = options_of("sgd");
  options.nesterov = true;
  options.weight_decay = 0.05;
  compare<torch::optim::SGD>(options, torch::optim::SGDOptions(1).momentum(0.9).nesterov(true).weight_decay(0.05));
}

TEST(Sgd, NesterovNeedsMomentum) {
  auto options = options_of("sgd");
  options.nesterov = true;
  options.momentum = 0;
  EXPECT_THROW(make_optimizer(options, example_parameters()), Error);
}

TEST(Adam, AgreesWithLibTorch) {
  for (const double decay : {0.0, 0.05}) {
    auto options = options_of("adam");
    options.beta1 = 0.5;
    options.weight_decay = decay;
    compare<torch::optim::Adam>(options,
                                torch::optim::AdamOptions(1).betas({0.5, 0.999}).eps(1e-8).weight_decay(decay));
  }
}

TEST(Adam, FirstStepIsTheRateInTheGradientsDirection) {
  auto options = options_of("adam");
  options.weight_decay = 0;
  const auto weight = torch::zeros({2}, torch::kDouble).requires_grad_();
  make_optimizer(options, {weight})->step({torch::tensor({3.0, -0.01}, torch::kDouble)}, 0.1);
  EXPECT_NEAR(weight[0].item<double>(), -0.1, 1e-7);
  EXPECT_NEAR(weight[1].item<double>(), 0.1, 1e-6);
}

class Optimizers : public testing::TestWithParam<std::string> {};

TEST_P(Optimizers, LeaveGradientsAlone) {
  const auto parameters = example_parameters();
  const auto gradients = random_gradients(parameters);
  const auto before = copies(gradients);
  make_optimizer(options_of(GetParam()), parameters)->step(gradients, 0.1);
  for (size_t i = 0; i < gradients.size(); ++i) EXPECT_TRUE(gradients[i].equal(before[i]));
}

TEST_P(Optimizers, GoOnExactlyFromSavedState) {
  const auto parameters = example_parameters();
  const auto optimizer = make_optimizer(options_of(GetParam()), parameters);
  for (int step = 0; step < 3; ++step) optimizer->step(random_gradients(parameters), 0.1);
  State state;
  optimizer->save(state, "o.");

  const auto twins = copies(parameters);
  const auto twin = make_optimizer(options_of(GetParam()), twins);
  twin->load(State::parse(state.serialise(), "test"), "o.");
  for (int step = 0; step < 3; ++step) {
    const auto gradients = random_gradients(parameters);
    optimizer->step(gradients, 0.1);
    twin->step(gradients, 0.1);
  }
  for (size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(parameters[i].equal(twins[i]));
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::Values("sgd", "adam"), [](const auto& info) { return info.param; });

TEST(Optimizer, UnknownNamesListTheKnown) {
  EXPECT_THAT([] { make_optimizer(options_of("sdg"), {}); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Known: adam, sgd")));
}

TEST(ClipGradients, ScalesTheJointNorm) {
  std::vector<at::Tensor> gradients = {torch::full({2, 2}, 3.0), at::Tensor(), torch::full({4}, 4.0)};
  EXPECT_NEAR(clip_gradients(gradients, 5), 10, 1e-6);
  EXPECT_NEAR(gradients[0][0][0].item<double>(), 1.5, 1e-5);
  EXPECT_NEAR(gradients[2][0].item<double>(), 2, 1e-5);
}

TEST(ClipGradients, LeavesSmallOnesAlone) {
  std::vector<at::Tensor> gradients = {torch::full({4}, 2.0)};
  EXPECT_NEAR(clip_gradients(gradients, 5), 4, 1e-6);
  EXPECT_NEAR(clip_gradients(gradients, 0), 4, 1e-6);
  EXPECT_TRUE(gradients[0].equal(torch::full({4}, 2.0)));
}

TEST(ClipGradients, ReportsNonFiniteNormsAndEmptyLists) {
  std::vector<at::Tensor> none = {at::Tensor()};
  EXPECT_EQ(clip_gradients(none, 5), 0);
  std::vector<at::Tensor> bad = {torch::full({4}, std::nan(""))};
  EXPECT_TRUE(std::isnan(clip_gradients(bad, 5)));
}

TEST(OptimizerOptions, CanStandInSeveralSections) {
  OptionTable table;
  OptimizerOptions weights, architecture;
  weights.declare(table, "weights", "Weights.");
  architecture.declare(table, "architecture", "ArchitectureParameters.");
  table.read_toml("[weights]\nlr = 0.5\n[architecture]\noptimizer = 'adam'\nweight-decay = 1e-3\n", "test");
  EXPECT_EQ(weights.lr, 0.5);
  EXPECT_EQ(architecture.optimizer, "adam");
  EXPECT_EQ(architecture.weight_decay, 1e-3);
  EXPECT_THROW(table.read_assignment("weights.optimizer=adem"), Error);
  EXPECT_THROW(table.read_assignment("weights.momentum=1"), Error);
}

}  // namespace
}  // namespace nascent
