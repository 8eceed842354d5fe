#include "nascent/search/one_shot/posterior.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "nascent/core/chi_squared.h"
#include "nascent/core/error.h"
#include "nascent/search/one_shot/one_hot.h"
#include "nascent/search/one_shot/regulariser.h"
#include "nascent/space/cell_space.h"

namespace nascent {
namespace {

// One node with three inputs that keeps two, two operations: 3 * 2^2 = 12 architectures.
std::shared_ptr<const Space> small_space() {
  SpaceDescription description;
  description.name = "small";
  description.ops = {"skip_connect", "sep_conv_3x3"};
  description.cells = {
      {.type = "normal", .inputs = 2, .nodes = {any_inputs(2, 2), any_inputs(3, 2)}, .output = {2, 3}}};
  description.cells[0].nodes = {{.inputs = {0, 1}, .keep = 2}, {.inputs = {0, 1, 2}, .keep = 2}};
  return std::make_shared<CellSpace>(description);
}

void set_logits(ArchitecturePosterior& posterior, double scale, uint64_t seed) {
  at::NoGradGuard no_grad;
  uint64_t index = 0;
  for (at::Tensor logits : posterior.parameters()) {
    RandomStream random(seed, "logits", {index++});
    for (int64_t i = 0; i < logits.numel(); ++i) {
      float& value = logits.data_ptr<float>()[i];
      if (value > kNever / 2) value = static_cast<float>(scale * random.normal());
    }
  }
}

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

TEST(InputSets, PairsHaveTheirClosedForm) {
  const InputSets sets({.node = 0, .keep = 2, .rows = {0, 1, 2, 3}, .states = {0, 1, 2, 3}});
  ASSERT_EQ(sets.sets().size(), 6u);
  const at::Tensor logits = at::tensor({0.3, -1.0, 1.2, 0.1}, at::kDouble);
  const auto pi = numbers(logits.softmax(0)), found = numbers(sets.log_probabilities(logits).exp());
  double sum = 0;
  for (size_t i = 0; i < 6; ++i) {
    const double a = pi[static_cast<size_t>(sets.sets()[i][0])], b = pi[static_cast<size_t>(sets.sets()[i][1])];
    EXPECT_NEAR(found[i], a * b * (1 / (1 - a) + 1 / (1 - b)), 1e-12);
    sum += found[i];
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  double kept = 0;
  for (const double p : numbers(sets.kept(sets.log_probabilities(logits)))) kept += p;
  EXPECT_NEAR(kept, 2, 1e-12);
}

TEST(Posterior, DrawsFollowTheProbabilities) {
  const auto space = small_space();
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 0.8, 2);
  std::map<std::string, double> expected;
  std::map<std::string, int64_t> drawn;
  double sum = 0;
  space->enumerate([&](const Genotype& genotype) {
    sum += expected[to_text(genotype, "json")] = std::exp(posterior.log_probability(genotype));
    return true;
  });
  EXPECT_EQ(expected.size(), 48u);  // the first node's two operations count too
  EXPECT_NEAR(sum, 1, 1e-6);
  const int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    RandomStream random(3, "draw", {static_cast<uint64_t>(i)});
    ++drawn[to_text(posterior.sample(random), "json")];
  }
  double chi = 0;
  for (const auto& [text, p] : expected) {
    const double gap = static_cast<double>(drawn[text]) - draws * p;
    chi += gap * gap / (draws * p);
  }
  EXPECT_GT(chi_squared_tail(chi, 47), 1e-3);
}

// The pairs alone, by Gumbel's top two, in 10^5 draws.
TEST(Posterior, PairsFollowTheirProbabilities) {
  const InputSets sets({.node = 0, .keep = 2, .rows = {0, 1, 2, 3, 4}, .states = {0, 1, 2, 3, 4}});
  const at::Tensor logits = at::tensor({0.5, -0.5, 1.0, 0.0, -1.0}, at::kDouble);
  const auto p = numbers(sets.log_probabilities(logits).exp()), pi = numbers(logits.log_softmax(0));
  std::vector<int64_t> drawn(10);
  for (int i = 0; i < 100000; ++i) {
    RandomStream random(4, "pairs", {static_cast<uint64_t>(i)});
    std::vector<std::pair<double, int>> perturbed;
    for (int j = 0; j < 5; ++j)
      perturbed.emplace_back(pi[static_cast<size_t>(j)] - std::log(-std::log(random.uniform() + 1e-300)), j);
    std::sort(perturbed.rbegin(), perturbed.rend());
    std::vector<int> pair = {perturbed[0].second, perturbed[1].second};
    std::sort(pair.begin(), pair.end());
    ++drawn[sets.index_of(pair)];
  }
  double chi = 0;
  for (size_t i = 0; i < 10; ++i) {
    const double gap = static_cast<double>(drawn[i]) - 1e5 * p[i];
    chi += gap * gap / (1e5 * p[i]);
  }
  EXPECT_GT(chi_squared_tail(chi, 9), 1e-3);
}

TEST(Posterior, DivergenceIsThatOfTheEnumeration) {
  const auto space = small_space();
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1.3, 5);
  double enumerated = 0, entropy = 0;
  space->enumerate([&](const Genotype& genotype) {
    const double log_p = posterior.log_probability(genotype);
    enumerated += std::exp(log_p) * (log_p + std::log(space->count()));
    entropy -= std::exp(log_p) * log_p;
    return true;
  });
  EXPECT_NEAR(posterior.divergence().item<double>(), enumerated, 1e-6);
  EXPECT_NEAR(posterior.entropies()[0], entropy, 1e-6);
}

TEST(Posterior, DivergenceIsZeroAtUniformAndTheSpaceAtAPoint) {
  for (const std::string name : {"darts", "nasbench201", "nasbench1shot1-s2"}) {
    const auto space = find_space(name);
    ArchitecturePosterior posterior(*space, {.spread = 0}, 1);
    EXPECT_NEAR(posterior.divergence().item<double>(), 0, 1e-6) << name;
    set_logits(posterior, 1e4, 6);  // one architecture has all the probability
    EXPECT_NEAR(posterior.divergence().item<double>(), std::log(space->count()), 1e-4) << name;
    EXPECT_NEAR(posterior.log_probability(posterior.most_probable()), 0, 1e-6) << name;
  }
  const auto space = find_space("nasbench201");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1e4, 7);
  EXPECT_NEAR(posterior.divergence().item<double>(), 6 * std::log(5.0), 1e-6);
}

TEST(Posterior, GradientOfTheDivergence) {
  const auto space = find_space("darts");
  ArchitecturePosterior posterior(*space, {.temperature = 2}, 1);
  set_logits(posterior, 1, 8);
  posterior.divergence().backward();
  for (at::Tensor logits : posterior.parameters()) {
    for (int64_t i = 0; i < logits.numel(); i += 17) {
      float& value = logits.data_ptr<float>()[i];
      if (value < kNever / 2) continue;
      const float at = value, eps = 1e-2f;
      const auto divergence = [&] {
        at::NoGradGuard no_grad;
        return posterior.divergence().item<double>();
      };
      value = at + eps;
      const double above = divergence();
      value = at - eps;
      const double below = divergence();
      value = at;
      EXPECT_NEAR(logits.grad().flatten()[i].item<double>(), (above - below) / (2 * eps), 2e-4);
    }
  }
}

// Each node keeps as many inputs as it keeps, on average too; where nothing is chosen there is nothing to tell.
TEST(Posterior, KeptEdgesAddUpToThoseOfANode) {
  const auto space = find_space("darts");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1, 3);
  for (size_t cell = 0; cell < 2; ++cell) {
    const auto kept = posterior.kept(cell);
    ASSERT_EQ(kept.size(), 14u);
    size_t site = 0;
    for (const size_t inputs : {2, 3, 4, 5}) {
      double sum = 0;
      for (size_t i = 0; i < inputs; ++i) sum += kept[site++];
      EXPECT_NEAR(sum, 2, 1e-9) << inputs;
    }
  }
  EXPECT_TRUE(ArchitecturePosterior(*find_space("nasbench201"), {}, 1).kept(0).empty());
}

TEST(Posterior, MostProbableIsTheBestOfAll) {
  const auto space = small_space();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ArchitecturePosterior posterior(*space, {}, 1);
    set_logits(posterior, 1, seed);
    double best = -INFINITY;
    space->enumerate([&](const Genotype& genotype) {
      best = std::max(best, posterior.log_probability(genotype));
      return true;
    });
    EXPECT_NEAR(posterior.log_probability(posterior.most_probable()), best, 1e-9);
  }
}

// What runs is one architecture of the space with weights 1, and gradients reach both kinds of logits.
TEST(Posterior, StraightThroughRunsOneArchitecture) {
  const auto space = find_space("darts");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1, 9);
  const Mixture mixture = posterior.straight_through({.seed = 1, .step = 5}, 1);
  at::Tensor sum = at::zeros({});
  for (const auto& [type, cell] : mixture) {
    int kept = 0;
    for (size_t site = 0; site < cell.active.size(); ++site) {
      if (cell.active[site].empty()) continue;
      ++kept;
      const auto row = static_cast<int64_t>(site);
      EXPECT_NEAR(cell.edges[row].item<float>(), 1, 1e-6);
      EXPECT_NEAR(cell.ops[row][cell.active[site][0]].item<float>(), 1, 1e-6);
      EXPECT_NE(cell.active[site][0], 0);  // none is left out
      sum = sum + static_cast<double>(site) * cell.edges[row] + cell.ops[row][cell.active[site][0]];
    }
    EXPECT_EQ(kept, 8);
  }
  sum.backward();
  for (const at::Tensor& logits : posterior.parameters()) EXPECT_GT(logits.grad().abs().max().item<double>(), 1e-4);
}

TEST(Posterior, TemperatureMustBeAboveZero) {
  const auto space = find_space("nasbench201");
  EXPECT_THAT([&] { ArchitecturePosterior(*space, {.temperature = 0}, 1); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("above 0")));
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1, 3);
  const double sharp = (posterior.set_temperature(0.1), posterior.entropies()[0]);
  const double flat = (posterior.set_temperature(10), posterior.entropies()[0]);
  EXPECT_LT(sharp, flat);
  EXPECT_LT(flat, 6 * std::log(5.0));
}

TEST(ArchitectureCode, IsUndoneByDecoding) {
  for (const std::string name : {"darts", "darts-s1", "nasbench201", "nasbench1shot1-s1"}) {
    const auto space = find_space(name);
    for (uint64_t i = 0; i < 20; ++i) {
      RandomStream random(1, "code", {i});
      const Genotype genotype = space->sample(random);
      EXPECT_EQ(one_hot(*space, decode(*space, encode(*space, genotype))).begin()->second.active,
                one_hot(*space, genotype).begin()->second.active);
    }
  }
}

TEST(Relaxation, PosteriorLearnsAndIsPulledToUniform) {
  const auto space = find_space("nasbench201");
  const RelaxationOptions options;
  const auto relaxation = Relaxation::Registry::instance().make("posterior", RelaxationSetup{*space, options, 1});
  EXPECT_EQ(relaxation->parameters().size(), 2u);
  const NetworkPlan plan = plan_supernet(*space, {.channels = 4, .cells = 1}, {3, 8, 8}, 10);
  const auto pull = make_regularisers({"uniform 0.5"}, *space, plan);
  ArchitecturePosterior posterior(*space, {}, 1);
  EXPECT_NEAR(pull[0]->penalty(relaxation->probabilities({})).item<double>(),
              0.5 * posterior.divergence().item<double>(), 1e-6);
}

}  // namespace
}  // namespace nascent
