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
  const int draws = 100000;
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

// The pairs of one node as sample() draws them, against their closed form.
TEST(Posterior, PairsFollowTheirProbabilities) {
  SpaceDescription description;
  description.name = "pairs";
  description.ops = {"skip_connect"};
  description.cells = {{.type = "normal",
                        .inputs = 2,
                        .nodes = {any_inputs(2, 2), any_inputs(2, 2), any_inputs(4, 2)},
                        .output = {2, 3, 4}}};
  const CellSpace space(description);
  ArchitecturePosterior posterior(space, {.temperature = 0.7}, 1);
  set_logits(posterior, 1, 5);
  const EdgeGroup group = edge_groups(space.cells()[0])[2];
  ASSERT_EQ(group.rows.size(), 4u);
  // pi = softmax(logits / tau), and P{a,b} = pi_a pi_b (1 / (1 - pi_a) + 1 / (1 - pi_b)).
  const auto logits = numbers(posterior.parameters()[1]);
  std::vector<double> pi;
  double sum = 0;
  for (const int row : group.rows) sum += pi.emplace_back(std::exp(logits[static_cast<size_t>(row)] / 0.7));
  for (double& p : pi) p /= sum;
  const int draws = 100000;
  std::map<std::vector<int>, int64_t> drawn;
  for (int i = 0; i < draws; ++i) {
    RandomStream random(4, "pairs", {static_cast<uint64_t>(i)});
    ++drawn[encode(space, posterior.sample(random))[0].kept[2]];
  }
  double chi = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      const double expected = draws * pi[a] * pi[b] * (1 / (1 - pi[a]) + 1 / (1 - pi[b]));
      const double gap = static_cast<double>(drawn[{a, b}]) - expected;
      chi += gap * gap / expected;
    }
  }
  EXPECT_EQ(drawn.size(), 6u);
  EXPECT_GT(chi_squared_tail(chi, 5), 1e-3);
}

// What is left out of the search is left out of every draw, and the prior is uniform over what remains.
TEST(Posterior, LeavesOutWhatIsExcluded) {
  const auto whole = find_space("nasbench201");
  const auto space = without(*whole, {"none", "avg_pool_3x3"});
  EXPECT_EQ(space->ops(), whole->ops());  // the supernet's rows
  EXPECT_EQ(space->genotype_ops().size(), 3u);
  EXPECT_EQ(space->count(), 729);  // 3^6
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 0, 1);
  EXPECT_NEAR(posterior.divergence().item<double>(), 0, 1e-9);
  Genotype genotype = posterior.most_probable();
  for (uint64_t i = 0; i < 200; ++i) {
    RandomStream random(3, "draw", {i});
    space->validate(posterior.sample(random));
    genotype = space->mutate(genotype, random);
    for (const GenotypeNode& node : genotype.cells[0].nodes) {
      for (const GenotypeEdge& edge : node.edges) {
        EXPECT_NE(edge.op, "none");
        EXPECT_NE(edge.op, "avg_pool_3x3");
      }
    }
    const Mixture drawn = posterior.straight_through({.seed = 1, .step = static_cast<int64_t>(i)}, 1);
    for (const auto& active : drawn.begin()->second.active) {
      ASSERT_EQ(active.size(), 1u);
      EXPECT_EQ(std::count(posterior.shape().ops().begin(), posterior.shape().ops().end(), active[0]), 1);
    }
  }
  EXPECT_THROW(without(*whole, whole->ops()), Error);
  EXPECT_THROW(without(*whole, {"nose"}), Error);
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
