#include "nascent/search/at_initialisation/te_nas.h"

#include <gtest/gtest.h>

#include <set>

#include "nascent/core/error.h"
#include "nascent/core/no_events.h"
#include "nascent/score/linear_regions.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::Sample;

// A supernet of NAS-Bench-201, some candidates of each edge, and the mixture that stands for them.
struct Pruned {
  Sample sample{"nasbench201:0"};
  Network supernet{plan_supernet(*sample.space, sample.size, sample.input, sample.classes), 1, "he"};
  Candidates left{{"cell", {{1, 2, 3, 4}, {3}, {1, 4}, {2, 3}, {1, 2, 3}, {4}}}};

  Mixture mixture() const {
    CellMixture cell;
    cell.ops = at::zeros({6, 5});
    cell.active = left.at("cell");
    for (int64_t site = 0; site < 6; ++site) {
      for (const int op : cell.active[site]) cell.ops[site][op] = 1.0 / static_cast<double>(cell.active[site].size());
    }
    return {{"cell", cell}};
  }
};

TEST(TeNas, TheTapeOfAPrunedSupernetMixesWhatIsLeftInEqualParts) {
  Pruned pruned;
  const Tape tape(pruned.supernet, pruned.left);
  const at::Tensor images = pruned.sample.batch(5).images;
  const Mixture mixture = pruned.mixture();
  const at::Tensor expected = pruned.supernet.forward(images, {.mixture = &mixture}).logits;
  EXPECT_TRUE(at::allclose(forward(tape, images).values[tape.logits()], expected, 1e-4, 1e-5));
}

TEST(TeNas, TheConditionNumberAgreesWithAutograd) {
  Pruned pruned;
  const at::Tensor images = pruned.sample.batch(4).images;
  const Mixture mixture = pruned.mixture();
  const at::Tensor logits = pruned.supernet.forward(images, {.mixture = &mixture}).logits;
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 4; ++i) {
    rows.push_back(testing_score::flat_gradient(logits[i].sum(), testing_score::counted_weights(pruned.supernet)));
  }
  const at::Tensor jacobian = at::stack(rows).to(at::kDouble);
  const auto eigenvalues = symmetric_eigenvalues(at::mm(jacobian, jacobian.t()));
  const double kappa = kernel_condition(Tape(pruned.supernet, pruned.left), images, KernelGradients::coupled);
  EXPECT_NEAR(kappa, eigenvalues.back() / eigenvalues.front(), 1e-2 * kappa);
}

TEST(TeNas, TheKernelWithNormScalesAgreesWithAutograd) {
  const Sample sample(
      "|nor_conv_3x3~0|+|avg_pool_3x3~0|nor_conv_1x1~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|");
  Network network(sample.plan(), 1, "he");
  const at::Tensor images = sample.batch(4).images;
  const at::Tensor logits = network.forward(images).logits;
  std::vector<at::Tensor> parameters;
  for (const auto& item : network.named_parameters()) {
    if (item.key().ends_with("weight")) parameters.push_back(item.value());
  }
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 4; ++i) rows.push_back(testing_score::flat_gradient(logits[i].sum(), parameters));
  const at::Tensor jacobian = at::stack(rows).to(at::kDouble), expected = at::mm(jacobian, jacobian.t());
  const Tape tape(network);
  const Trace trace = forward(tape, images);
  const auto found = [&](KernelParameters which) {
    return gram_matrix(tape, trace, at::ones_like(logits), KernelGradients::coupled, which);
  };
  EXPECT_TRUE(at::allclose(found(KernelParameters::norm_scales_too), expected, 1e-3, 1e-4));
  EXPECT_FALSE(at::allclose(found(KernelParameters::weights), expected, 1e-3, 1e-4));
}

// Where all edges of the thin cell are skips, only the last ReLU is left: it divides images by the signs of their
// pixels around the mean.
TEST(TeNas, RegionsOfTheThinCellCanBeCountedByHand) {
  const auto space = find_space("nasbench201");
  const NetworkPlan plan = thin_supernet(*space, 4);
  EXPECT_TRUE(plan.stems.empty());
  EXPECT_EQ(plan.cells.size(), 1u);
  EXPECT_EQ(plan.cells[0].output_shape, (Shape{1, 3, 3}));
  const Network network(plan, 1, "he");
  const at::Tensor patches = normal_images(plan.input, 50, 1, "patches");
  std::set<std::string> patterns;
  const at::Tensor above = patches > patches.mean();
  for (int64_t i = 0; i < 50; ++i) {
    std::string pattern;
    for (int64_t j = 0; j < 9; ++j) pattern += above[i].flatten()[j].item<bool>() ? '1' : '0';
    patterns.insert(pattern);
  }
  const Candidates skips{{"cell", std::vector<std::vector<int>>(6, {1})}};
  EXPECT_EQ(count_linear_regions(Tape(network, skips), patches), static_cast<double>(patterns.size()));
}

TEST(TeNas, TheThinSupernetHasEveryTypeOfCell) {
  const NetworkPlan plan = thin_supernet(*find_space("darts"), 4);
  ASSERT_EQ(plan.cells.size(), 2u);
  EXPECT_EQ(plan.cells[0].type, "normal");
  EXPECT_EQ(plan.cells[1].type, "reduce");
}

TEST(TeNas, RanksOfBothMeasuresAreAdded) {
  // By kappa, the largest fall first: b, a and c (equal to a thousandth), d. By regions, the fewest lost first: d, b,
  // a, c.
  const std::vector<PruningEffect> effects = {{0.2, 0.3}, {0.5, 0.1}, {0.2003, 0.4}, {-0.1, -0.2}};
  using Ranks = std::vector<std::pair<int, int>>;
  EXPECT_EQ(pruning_ranks(effects), (Ranks{{1 + 2, 1}, {0 + 1, 0}, {1 + 3, 1}, {2 + 0, 2}}));
}

TEST(TeNas, PrunesToAnArchitectureWithAnOperationOnEveryEdge) {
  const Sample sample("nasbench201:0");
  const TeNasSetup setup{.space = sample.space, .images = sample.batch(8).images, .classes = 4, .seed = 1};
  const TeNasOptions options{.repeats = 1, .batch = 4, .channels = 2, .regions = 30};
  const Genotype found = te_nas(setup, options);
  EXPECT_NO_THROW(setup.space->validate(found));
  EXPECT_EQ(to_text(found, "nasbench201").find("none"), std::string::npos);
  EXPECT_EQ(te_nas(setup, options), found);
}

// As its authors run it: networks and images of their own for every operation.
TEST(TeNas, RedrawsForEveryOperationAndResumesExactly) {
  const Sample sample("nasbench201:0");
  const TeNasSetup setup{.space = sample.space,
                         .images = sample.batch(8).images,
                         .classes = 4,
                         .ntk = KernelGradients::coupled,
                         .seed = 1};
  const TeNasOptions options{.repeats = 1,
                             .batch = 3,
                             .channels = 2,
                             .regions = 20,
                             .redraw = "operation",
                             .initialiser = "he-fan-out",
                             .norm_scales = true};
  const Genotype found = te_nas(setup, options);
  EXPECT_NO_THROW(setup.space->validate(found));
  TeNas first(setup, options), second(setup, options);
  NoEvents events;
  for (int64_t step = 0; step < 7; ++step) first.step(0, step, events);
  State state;
  first.save(state, "");
  second.load(State::parse(state.serialise(), "test"), "");
  for (int64_t step = 7; step < second.steps(); ++step) second.step(0, step, events);
  EXPECT_EQ(second.genotype(), found);
}

TEST(TeNas, RefusesOperationsOnNodesAndTooFewImages) {
  const Sample sample("nasbench201:0");
  const at::Tensor images = sample.batch(4).images;
  EXPECT_THROW(te_nas({.space = find_space("nasbench1shot1-s1"), .images = images, .classes = 4}, {.batch = 4}), Error);
  EXPECT_THROW(te_nas({.space = sample.space, .images = images, .classes = 4}, {.batch = 5}), Error);
}

}  // namespace
}  // namespace nascent
