#include "nascent/search/one_shot/relaxation.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/search/discretisation.h"
#include "nascent/search/one_shot/sampling.h"
#include "nascent/train/second_order.h"

namespace nascent {
namespace {

std::unique_ptr<Relaxation> make(const std::string& name, const std::string& space, RelaxationOptions options = {}) {
  static std::vector<std::shared_ptr<const Space>> kept;
  kept.push_back(find_space(space));
  return Relaxation::Registry::instance().make(name, RelaxationSetup{*kept.back(), options, 7});
}

SearchPlace place_at(int64_t step, int64_t steps = 100) { return {.seed = 5, .step = step, .steps = steps}; }

class EveryRelaxation : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EveryRelaxation, GivesAMixtureOfTheSpacesShape) {
  const auto& [name, space_name] = GetParam();
  const auto space = find_space(space_name);
  const auto relaxation = make(name, space_name);
  const Mixture mixture = relaxation->mixture(place_at(3)), probabilities = relaxation->probabilities(place_at(3));
  for (const auto& cell : space->cells()) {
    for (const auto* table : {&mixture, &probabilities}) {
      EXPECT_EQ(table->at(cell.type).ops.size(0), Space::sites(cell));
      EXPECT_EQ(table->at(cell.type).ops.size(1), static_cast<int64_t>(space->ops().size()));
      EXPECT_TRUE(table->at(cell.type).ops.isfinite().all().item<bool>());
      if (cell.ops_on_nodes) {
        EXPECT_EQ(table->at(cell.type).edges.numel(), static_cast<int64_t>(Space::edges(cell).size()));
      }
    }
  }
  space->validate(strongest_genotype(*space, probabilities));
  space->validate(relaxation->sample(place_at(3), 4));
}

TEST_P(EveryRelaxation, DrawsTheSameAtTheSamePlace) {
  const auto& [name, space_name] = GetParam();
  const auto relaxation = make(name, space_name);
  const Mixture a = relaxation->mixture(place_at(3)), b = relaxation->mixture(place_at(3));
  for (const auto& [type, cell] : a) {
    EXPECT_TRUE(cell.ops.equal(b.at(type).ops));
    EXPECT_EQ(cell.active, b.at(type).active);
  }
}

INSTANTIATE_TEST_SUITE_P(Names, EveryRelaxation,
                         testing::Combine(testing::Values("softmax", "simplex", "gumbel", "concrete", "gates",
                                                          "single-path", "controller"),
                                          testing::Values("darts", "nasbench201", "nasbench1shot1-s1", "darts-s1")));

TEST(SoftmaxRelaxation, WeightsSumToOne) {
  const auto mixture = make("softmax", "darts", {.spread = 1})->mixture(place_at(0));
  EXPECT_LT((mixture.at("normal").ops.sum(-1) - 1).abs().max().item<double>(), 1e-6);
}

TEST(Exclude, LeavesAnOperationAtProbabilityZero) {
  for (const std::string name : {"softmax", "simplex", "gumbel", "concrete"}) {
    RelaxationOptions options;
    options.exclude = {"none"};
    const auto relaxation = make(name, "nasbench201", options);
    const at::Tensor table = relaxation->probabilities(place_at(0)).at("cell").ops;
    EXPECT_EQ(table.select(1, 0).abs().max().item<double>(), 0) << name;
    EXPECT_NEAR(table[0].sum().item<double>(), 1, 1e-6) << name;
    EXPECT_NEAR(relaxation->mixture(place_at(0)).at("cell").ops.select(1, 0).abs().max().item<double>(), 0, 1e-9)
        << name;
  }
  RelaxationOptions wrong;
  wrong.exclude = {"nome"};
  EXPECT_THROW(make("softmax", "nasbench201", wrong), Error);
}

TEST(EdgeWeights, SumToOneOverTheEdgesIntoANode) {
  const auto mixture = make("softmax", "darts", {.edge_weights = true, .spread = 1})->mixture(place_at(0));
  const at::Tensor edges = mixture.at("normal").edges;
  int64_t row = 0;
  for (int node = 0; node < 4; ++node) {
    EXPECT_NEAR(edges.narrow(0, row, 2 + node).sum().item<double>(), 1, 1e-6);
    row += 2 + node;
  }
  EXPECT_EQ(row, edges.numel());
}

// The argmax of log p + Gumbel noise is distributed as p, at any temperature.
TEST(GumbelRelaxation, SamplesInProportion) {
  const auto relaxation = make("gumbel", "nasbench201");
  const at::Tensor logits = relaxation->parameters()[0];
  {
    at::NoGradGuard no_grad;
    const std::vector<float> wanted = {0.5f, 0.25f, 0.15f, 0.07f, 0.03f};
    for (int64_t op = 0; op < 5; ++op)
      at::Tensor(logits).select(1, op).fill_(std::log(wanted[static_cast<size_t>(op)]));
  }
  constexpr int kDraws = 4000;
  at::Tensor counts = at::zeros({5});
  for (int64_t step = 0; step < kDraws; ++step)
    counts += relaxation->mixture(place_at(step, kDraws)).at("cell").ops.detach().sum(0);
  const std::vector<double> expected = {0.5, 0.25, 0.15, 0.07, 0.03};
  for (int64_t op = 0; op < 5; ++op) {
    const double p = expected[static_cast<size_t>(op)], n = 6.0 * kDraws;
    EXPECT_NEAR(counts[op].item<double>() / n, p, 4.5 * std::sqrt(p * (1 - p) / n));
  }
}

TEST(GumbelRelaxation, RunsOneOperationPerSite) {
  const Mixture mixture = make("gumbel", "darts")->mixture(place_at(1));
  for (const auto& [type, cell] : mixture) {
    ASSERT_EQ(cell.active.size(), 14u);
    for (size_t site = 0; site < 14; ++site) {
      ASSERT_EQ(cell.active[site].size(), 1u);
      EXPECT_NEAR(cell.ops[static_cast<int64_t>(site)][cell.active[site][0]].item<double>(), 1, 1e-6);
    }
  }
}

// For one site, with soft = softmax((log p + g) / t), the weight of the sampled operation k has the gradient of soft_k:
// d soft_k / d logit_j = soft_k (delta_kj - soft_j) / t, as log-softmax shifts all logits alike.
TEST(GumbelRelaxation, StraightThroughGradientByHand) {
  const auto relaxation = make("gumbel", "nasbench201", {.spread = 1, .temperature = 2, .temperature_end = 2});
  const SearchPlace place = place_at(9);
  const auto mixture = relaxation->mixture(place).at("cell");
  const at::Tensor logits = relaxation->parameters()[0];
  const int64_t k = mixture.active[0][0];
  const at::Tensor gradient = dense_gradients(mixture.ops[0][k], {logits})[0][0];
  const at::Tensor soft =
      ((logits.log_softmax(-1) + gumbel_noise(logits.sizes(), place, "gumbel cell")) / 2.0).softmax(-1)[0].detach();
  for (int64_t j = 0; j < 5; ++j) {
    const double expected = soft[k].item<double>() * ((j == k) - soft[j].item<double>()) / 2;
    EXPECT_NEAR(gradient[j].item<double>(), expected, 1e-6);
  }
}

TEST(ConcreteRelaxation, SharpensAsTheTemperatureFalls) {
  const RelaxationOptions options{.temperature = 10, .temperature_end = 0.01, .anneal = "exponential"};
  const auto relaxation = make("concrete", "darts", options);
  const double early = mean_entropy(relaxation->mixture(place_at(0))),
               late = mean_entropy(relaxation->mixture(place_at(99)));
  EXPECT_GT(early, 1.9);
  EXPECT_LT(late, 0.2);
  EXPECT_NEAR(options.temperature_at(place_at(50)), std::sqrt(10 * 0.01), 1e-9);
}

// Theorem 3 of PR-DARTS: P(g != 0) = sigmoid(beta - t ln(-a/b)); as a = 1 - b here, by symmetry P(g = 1) = sigmoid(beta
// + t ln(-a/b)).
TEST(GateRelaxation, OpensAsOftenAsTheorem3Says) {
  RelaxationOptions options;
  options.temperature = options.temperature_end = 0.5;
  options.sampled_ops = 0;
  for (const double beta : {-1.0, 0.0, 1.5}) {
    const auto relaxation = make("gates", "nasbench201", options);
    {
      at::NoGradGuard no_grad;
      at::Tensor(relaxation->parameters()[0]).fill_(beta);
    }
    constexpr int kDraws = 2000;
    double open = 0, full = 0;
    for (int64_t step = 0; step < kDraws; ++step) {
      const at::Tensor gates = relaxation->mixture(place_at(step, kDraws)).at("cell").ops.detach();
      open += gates.ne(0).sum().item<double>();
      full += gates.eq(1).sum().item<double>();
    }
    const double n = 30.0 * kDraws;
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    const double shift = 0.5 * std::log(0.1 / 1.1);
    EXPECT_NEAR(open / n, sigmoid(beta - shift), 0.01);
    EXPECT_NEAR(full / n, sigmoid(beta + shift), 0.01);
    EXPECT_NEAR(relaxation->probabilities(place_at(0)).at("cell").ops[0][0].item<double>(), sigmoid(beta - shift),
                1e-6);
  }
}

// What the supernet is judged with: the mean of the gates, not how often they are open.
TEST(GateRelaxation, ExpectsTheMeanOfItsGates) {
  RelaxationOptions options{.spread = 2, .temperature = 2, .temperature_end = 2, .sampled_ops = 0};
  const auto relaxation = make("gates", "nasbench201", options);
  at::Tensor sum = at::zeros({6, 5});
  constexpr int kDraws = 4000;
  for (int64_t step = 0; step < kDraws; ++step) sum += relaxation->mixture(place_at(step)).at("cell").ops.detach();
  const at::Tensor expected = relaxation->expected(place_at(0)).at("cell").ops;
  EXPECT_LT((sum / kDraws - expected).abs().max().item<double>(), 0.02);
  EXPECT_GT((relaxation->probabilities(place_at(0)).at("cell").ops - expected).abs().max().item<double>(), 0.1);
}

// What is excluded takes no place among the operations of a step.
TEST(GateRelaxation, ExcludedOperationsTakeNoPlace) {
  RelaxationOptions options;
  options.exclude = {"none", "avg_pool_3x3"};
  const auto relaxation = make("gates", "nasbench201", options);
  for (int64_t step = 0; step < 20; ++step) {
    const auto active = relaxation->mixture(place_at(step)).at("cell").active;
    for (const auto& site : active) {
      EXPECT_EQ(site.size(), 2u);
      for (const int op : site) EXPECT_TRUE(op >= 1 && op <= 3) << op;
    }
  }
}

// At any temperature, though every probability is 1 in float at 10 and in double beyond.
TEST(GateRelaxation, RanksByLogitsAtAnyTemperature) {
  for (const double temperature : {0.1, 10.0, 1000.0}) {
    const auto relaxation =
        make("gates", "nasbench201", {.spread = 1e-3, .temperature = temperature, .temperature_end = temperature});
    const at::Tensor logits = relaxation->parameters()[0].detach();
    const at::Tensor strengths = relaxation->log_strengths(place_at(0)).at("cell").ops;
    EXPECT_TRUE(at::argsort(strengths, int64_t{-1}).equal(at::argsort(logits, int64_t{-1}))) << temperature;
  }
}

// Methods that draw whole architectures leave out what is excluded too.
TEST(Exclude, IsNotDrawn) {
  for (const std::string name : {"single-path", "controller"}) {
    RelaxationOptions options;
    options.exclude = {"none", "nor_conv_1x1", "skip_connect"};
    const auto relaxation = make(name, "nasbench201", options);
    for (int64_t step = 0; step < 20; ++step) {
      const auto active = relaxation->mixture(place_at(step)).at("cell").active;
      for (const auto& site : active) {
        ASSERT_EQ(site.size(), 1u);
        EXPECT_GE(site[0], 3) << name;
      }
      const Genotype drawn = relaxation->sample(place_at(step), 7);
      for (const auto& node : drawn.cell("cell").nodes) {
        for (const auto& edge : node.edges) EXPECT_TRUE(edge.op == "nor_conv_3x3" || edge.op == "avg_pool_3x3") << name;
      }
    }
  }
}

// GDAS as released: candidates that do not run add their weights, which are 0 but have a gradient.
TEST(GumbelRelaxation, UnsampledWeightsAreZeroWithAGradient) {
  const RelaxationOptions options{.spread = 1, .temperature = 2, .temperature_end = 2, .unsampled_weights = true};
  const auto relaxation = make("gumbel", "nasbench201", options);
  const auto cell = relaxation->mixture(place_at(9)).at("cell");
  EXPECT_LT(cell.shifts.abs().max().item<double>(), 1e-6);
  // Straight-through weights sum to 1, so what the others gain the sampled one loses.
  const at::Tensor logits = relaxation->parameters()[0];
  const at::Tensor sampled = dense_gradients(cell.ops[2][cell.active[2][0]], {logits})[0];
  EXPECT_LT((dense_gradients(relaxation->mixture(place_at(9)).at("cell").shifts[2], {logits})[0] + sampled)
                .norm()
                .item<double>(),
            1e-6);
}

TEST(GateRelaxation, RunsTwoOperationsPerSite) {
  const auto active = make("gates", "darts")->mixture(place_at(2)).at("normal").active;
  ASSERT_EQ(active.size(), 14u);
  for (const auto& site : active) EXPECT_EQ(site.size(), 2u);
}

TEST(ControllerRelaxation, PolicyIsThatOfTheSample) {
  const auto relaxation = make("controller", "nasbench201");
  const auto policy = relaxation->policy(place_at(3));
  // A fresh controller is close to uniform over 5^6 architectures.
  EXPECT_NEAR(policy.log_probability.item<double>(), -6 * std::log(5), 0.2);
  EXPECT_NEAR(policy.entropy.item<double>(), 6 * std::log(5), 0.01);
  for (const auto& gradient : dense_gradients(policy.log_probability, relaxation->parameters())) {
    EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(Relaxation, WithoutSamplesHasNoPolicy) {
  EXPECT_THROW(make("softmax", "nasbench201")->policy(place_at(0)), Error);
}

}  // namespace
}  // namespace nascent
