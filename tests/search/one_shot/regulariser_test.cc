#include "nascent/search/one_shot/regulariser.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nascent/core/random.h"
#include "nascent/search/one_shot/latency.h"
#include "nascent/space/operation.h"
#include "nascent/train/second_order.h"

namespace nascent {
namespace {

class RegulariserTest : public testing::Test {
 protected:
  explicit RegulariserTest(const std::string& space = "darts") : space_(find_space(space)) {
    NetworkOptions options;
    options.cells = 5;
    options.channels = 4;
    plan_ = plan_supernet(*space_, options, {3, 16, 16}, 10);
  }

  std::unique_ptr<Regulariser> make(const std::string& spec) {
    return std::move(make_regularisers({spec}, *space_, plan_)[0]);
  }

  Mixture random_probabilities() const {
    Mixture mixture;
    for (const auto& cell : space_->cells()) {
      at::Tensor table = at::empty({Space::sites(cell), static_cast<int64_t>(space_->ops().size())});
      RandomStream random(2, cell.type);
      for (int64_t i = 0; i < table.numel(); ++i)
        table.data_ptr<float>()[i] = static_cast<float>(random.uniform(0.05, 0.5));
      mixture[cell.type].ops = table.requires_grad_();
    }
    return mixture;
  }

  std::shared_ptr<const Space> space_;
  NetworkPlan plan_;
};

TEST_F(RegulariserTest, GradientsMatchFiniteDifferences) {
  for (const std::string spec : {"entropy 0.7", "skip-sparsity 0.3", "non-skip-sparsity 0.2", "path-depth 0.5",
                                 "parameters 2", "multiply-adds 1.5", "parameters 1 1000"}) {
    const auto regulariser = make(spec);
    const Mixture mixture = random_probabilities();
    at::Tensor table = mixture.at("normal").ops;
    const at::Tensor gradient = dense_gradients(regulariser->penalty(mixture), {table})[0];
    for (const auto& [site, op] : {std::pair{0, 3}, {1, 4}, {3, 5}, {13, 7}}) {
      at::NoGradGuard no_grad;
      constexpr double kStep = 1e-2;
      const float before = table[site][op].item<float>();
      table[site][op] = before + kStep;
      const double up = regulariser->penalty(mixture).item<double>();
      table[site][op] = before - kStep;
      const double down = regulariser->penalty(mixture).item<double>();
      table[site][op] = before;
      const double expected = (up - down) / (2 * kStep);
      EXPECT_NEAR(gradient[site][op].item<double>(), expected, 5e-3 * std::max(1.0, std::abs(expected))) << spec;
    }
  }
}

TEST_F(RegulariserTest, SparsityIsAMeanProbability) {
  Mixture mixture = random_probabilities();
  for (auto& [type, cell] : mixture) cell.ops = at::full_like(cell.ops, 0.25);
  // Two types of cell.
  EXPECT_NEAR(make("skip-sparsity 1")->penalty(mixture).item<double>(), 2 * 0.25, 1e-6);
  EXPECT_NEAR(make("non-skip-sparsity 1")->penalty(mixture).item<double>(), 2 * 0.25, 1e-6);
}

// DARTS has four parametric operations; the path c_{k-1} -> 1 -> 2 -> 3 -> 4 has four links.
TEST_F(RegulariserTest, PathDepthMultipliesAlongTheCell) {
  Mixture mixture = random_probabilities();
  for (auto& [type, cell] : mixture) cell.ops = at::full_like(cell.ops, 0.2);
  EXPECT_NEAR(make("path-depth 1")->penalty(mixture).item<double>(), -2 * std::pow(0.8, 4), 1e-5);
}

TEST_F(RegulariserTest, ExpectedParametersOfAOneHotArchitecture) {
  Mixture mixture = random_probabilities();
  const auto& ops = space_->ops();
  const auto sep = std::find(ops.begin(), ops.end(), "sep_conv_3x3") - ops.begin();
  for (auto& [type, cell] : mixture) {
    cell.ops = at::zeros_like(cell.ops);
    cell.ops.select(1, sep).fill_(1);
  }
  double expected = 0;
  for (const auto& cell : plan_.cells) {
    for (const auto& node : cell.nodes) {
      for (const auto& edge : node.edges)
        expected += static_cast<double>(parameters(edge.candidates[static_cast<size_t>(sep)]));
    }
  }
  // With a budget b the penalty is expected / b - 1.
  EXPECT_NEAR(make("parameters 1 100")->penalty(mixture).item<double>(), expected / 100 - 1, 1e-3 * expected / 100);
  EXPECT_EQ(make("parameters 1 1e12")->penalty(mixture).item<double>(), 0);
}

TEST_F(RegulariserTest, MalformedSpecsAreQuoted) {
  const auto error_of = [&](const std::string& spec) {
    try {
      make(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of("entropy"), testing::HasSubstr("'entropy'"));
  EXPECT_THAT(error_of("entropy much"), testing::HasSubstr("'much' is not a number"));
  EXPECT_THAT(error_of("entorpy 1"), testing::HasSubstr("'entropy'?"));
}

TEST(LatencyTable, MeasuresOnceAndRemembers) {
  const auto file =
      std::filesystem::temp_directory_path() / ("nascent-latency-" + std::to_string(::getpid()) + ".json");
  const Stages sep = operation_stages("sep_conv_5x5", {.in = 16, .out = 16});
  double first = 0;
  {
    LatencyTable table(file);
    first = table.milliseconds(sep, {16, 16, 16});
    EXPECT_GT(first, 0);
    EXPECT_EQ(table.milliseconds({}, {16, 16, 16}), 0) << "the identity costs nothing";
  }
  EXPECT_EQ(LatencyTable(file).milliseconds(sep, {16, 16, 16}), first);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace nascent
