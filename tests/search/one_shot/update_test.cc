#include "nascent/search/one_shot/update.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/random.h"

namespace nascent {
namespace {

class UpdateTest : public testing::Test {
 protected:
  UpdateTest() : space_(find_space("nasbench201")) {
    relaxation_options_.relaxation = "simplex";
    options_.update = "exponentiated-gradient";
    options_.optimizer.lr = 0.1;
  }

  void build() {
    relaxation_ = Relaxation::Registry::instance().make(relaxation_options_.relaxation,
                                                        RelaxationSetup{*space_, relaxation_options_, 1});
    update_ =
        ArchitectureUpdate::Registry::instance().make(options_.update, UpdateSetup{options_, *relaxation_, bound_});
  }

  at::Tensor weights() const { return relaxation_->parameters()[0].detach(); }

  at::Tensor random_gradient(uint64_t step) const {
    at::Tensor values = at::empty({6, 5});
    RandomStream random(3, "gradient", {step});
    for (int64_t i = 0; i < values.numel(); ++i) values.data_ptr<float>()[i] = static_cast<float>(random.normal());
    return values;
  }

  std::shared_ptr<const Space> space_;
  RelaxationOptions relaxation_options_;
  UpdateOptions options_;
  double bound_ = 1;
  std::unique_ptr<Relaxation> relaxation_;
  std::unique_ptr<ArchitectureUpdate> update_;
};

TEST_F(UpdateTest, ExponentiatedGradientIsTheMirrorStep) {
  build();
  for (uint64_t step = 0; step < 20; ++step) {
    const at::Tensor before = weights().clone(), gradient = random_gradient(step);
    update_->step({gradient}, {});
    // argmin over the simplex of lr g.u + KL(u, before), in closed form.
    const at::Tensor expected = (before.log() - 0.1 * gradient).softmax(-1);
    EXPECT_LT((weights() - expected).abs().max().item<double>(), 1e-6);
    EXPECT_LT((weights().sum(-1) - 1).abs().max().item<double>(), 1e-6);
    EXPECT_GT(weights().min().item<double>(), 0);
  }
}

TEST_F(UpdateTest, ExponentiatedGradientIgnoresAConstantPerSite) {
  build();
  const at::Tensor gradient = random_gradient(1);
  update_->step({gradient}, {});
  const at::Tensor plain = weights().clone();
  build();
  update_->step({gradient + at::arange(6).unsqueeze(-1)}, {});
  EXPECT_LT((weights() - plain).abs().max().item<double>(), 1e-6);
}

TEST_F(UpdateTest, ExponentiatedGradientKeepsEdgesOnTheirSimplices) {
  space_ = find_space("darts");
  relaxation_options_.edge_weights = true;
  build();
  std::vector<at::Tensor> gradients;
  for (const auto& tensor : relaxation_->parameters()) gradients.push_back(at::ones_like(tensor).cumsum(-1));
  update_->step(gradients, {});
  const at::Tensor edges = relaxation_->probabilities({}).at("normal").edges;
  EXPECT_NEAR(edges.narrow(0, 0, 2).sum().item<double>(), 1, 1e-6);
  EXPECT_NEAR(edges.narrow(0, 9, 5).sum().item<double>(), 1, 1e-6);
  EXPECT_NEAR(edges[1].item<double>() / edges[0].item<double>(), std::exp(-0.1), 1e-5);
}

// GAEA's code keeps every weight above 1e-5; what is excluded stays out.
TEST_F(UpdateTest, ExponentiatedGradientKeepsToItsFloor) {
  options_.floor = 1e-3;
  relaxation_options_.exclude = {"none"};
  build();
  const at::Tensor gradient = at::zeros({6, 5});
  gradient.select(1, 3).fill_(-50);
  for (int i = 0; i < 40; ++i) update_->step({gradient}, {});
  EXPECT_EQ(weights().select(1, 0).max().item<float>(), 0);
  EXPECT_NEAR(weights()[0][1].item<double>(), 1e-3, 1e-5);
  EXPECT_NEAR(weights()[0][3].item<double>(), 0.997, 1e-4);
  EXPECT_NEAR(weights()[0].sum().item<double>(), 1, 1e-6);
}

TEST_F(UpdateTest, SurvivesHugeGradients) {
  build();
  for (int i = 0; i < 50; ++i) update_->step({at::full({6, 5}, 1e6) * at::arange(5)}, {});
  EXPECT_TRUE(weights().isfinite().all().item<bool>());
  EXPECT_NEAR(weights()[0][0].item<double>(), 1, 1e-6);
}

TEST_F(UpdateTest, XnasWipesOutWhatCannotRecover) {
  options_.update = "xnas";
  build();
  const at::Tensor gradient = at::zeros({6, 5});
  gradient.select(1, 2).fill_(-1);  // operation 2 gains as fast as it can
  SearchPlace place{.steps = 40};
  // After n steps the leader is ahead by exp(0.1 n); the others can gain exp(0.2) a step on it in the 40 - n left: they
  // are gone when 0.1 n > 0.2 (40 - n), first at n = 27.
  for (place.step = 0; place.step < 40; ++place.step) {
    update_->step({gradient}, place);
    const bool wiped = weights()[0][0].item<double>() == 0;
    EXPECT_EQ(wiped, place.step + 1 >= 27) << place.step;
  }
  EXPECT_NEAR(weights()[0][2].item<double>(), 1, 1e-6);
}

TEST_F(UpdateTest, WrongDomainIsExplained) {
  relaxation_options_.relaxation = "softmax";
  try {
    build();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("--relaxation simplex"));
  }
  relaxation_options_.relaxation = "simplex";
  options_.update = "optimizer";
  EXPECT_THROW(build(), Error);
}

}  // namespace
}  // namespace nascent
