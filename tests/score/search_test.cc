// Searches without training: NASI and TE-NAS.
#include <gtest/gtest.h>

#include "data/image_data.h"
#include "nn/inherit.h"
#include "score/nasi.h"
#include "score/samples.h"
#include "score/te_nas.h"

namespace nascent {
namespace {

using testing_score::Sample;

class NoEvents : public EventSink {
 public:
  void emit(const Event&) override {}
  void rewind(int64_t) override {}
};

struct NasiSearch {
  std::shared_ptr<const Space> space;
  ImageData data;
  std::shared_ptr<Network> supernet;
  Nasi nasi;

  explicit NasiSearch(const std::string& name, NasiOptions options = {.steps = 5})
      : space(find_space(name)),
        data(data_options(), 1),
        supernet(make(*space)),
        nasi(space, supernet, data.training(data.all(), "nasi"), options, 1) {}

  static DataOptions data_options() {
    DataOptions options;
    options.name = "random";
    options.shape = {3, 10, 10};
    options.classes = 4;
    options.size = 48;
    options.batch = 8;
    return options;
  }
  static std::shared_ptr<Network> make(const Space& space) {
    NetworkOptions size;
    size.channels = space.skeleton() == "nasbench101" ? 8 : 3;
    size.cells = space.skeleton() == "darts" ? 3 : 1;
    return std::make_shared<Network>(plan_supernet(space, size, {3, 10, 10}, 4), 1, "lecun");
  }
  void run(int64_t from, int64_t to) {
    NoEvents events;
    nasi.start_epoch(0, from, events);
    for (int64_t step = from; step < to; ++step) nasi.step(0, step, events);
  }
};

class NasiOn : public testing::TestWithParam<std::string> {};

TEST_P(NasiOn, FindsAnArchitectureOfTheSpaceAndResumesExactly) {
  NasiSearch whole(GetParam()), first(GetParam()), second(GetParam());
  whole.run(0, 5);
  EXPECT_NO_THROW(whole.space->validate(whole.nasi.genotype()));
  first.run(0, 2);
  State state;
  first.nasi.save(state, "");
  second.nasi.load(State::parse(state.serialise(), "test"), "");
  second.run(2, 5);
  State a, b;
  whole.nasi.save(a, "");
  second.nasi.save(b, "");
  EXPECT_EQ(a.serialise(), b.serialise());
  EXPECT_EQ(whole.nasi.genotype(), second.nasi.genotype());
}

INSTANTIATE_TEST_SUITE_P(, NasiOn,
                         testing::Values("nasbench201", "darts", "darts-nasi", "nasbench1shot1-s1",
                                         "nasbench1shot1-s3"),
                         [](const auto& info) { return std::to_string(info.index); });

TEST(Nasi, ASampleIsMeasuredLikeTheNetworkThatItIs) {
  NasiSearch search("nasbench201");
  const Sample sample("nasbench201:0");
  const TensorBatch batch = sample.batch(8);
  const double found = search.nasi.measure(batch, "test", 7, false).trace;
  // The same draw, as a genotype.
  NasiCell cell(*search.space, search.space->cells()[0]);
  RandomStream random(1, "test", {7});
  const CellMixture mixture = cell.sample(random, 1);
  std::string text;
  size_t row = 0;
  for (int node = 1; node <= 3; ++node) {
    text += node > 1 ? "+|" : "|";
    for (int from = 0; from < node; ++from, ++row) {
      text += fmt::format("{}~{}|", search.space->ops()[mixture.active[row][0]], from);
    }
  }
  const Genotype genotype = find_genotype(text);
  Network derived(derive_plan(search.supernet->plan(), genotype), 9);
  copy_weights(*search.supernet, derived);
  derived.train();
  const at::Tensor loss = at::cross_entropy_loss(derived.forward(batch.images).logits, batch.labels);
  double expected = 0;
  for (const auto& gradient : torch::autograd::grad({loss}, derived.parameters(), {}, c10::nullopt, false, true)) {
    if (gradient.defined()) expected += gradient.square().sum().item<double>();
  }
  EXPECT_NEAR(found, expected, 1e-3 * expected);
}

TEST(Nasi, TheGradientIsThatOfTheSoftmaxTimesTheWeightsEffect) {
  // One draw of one edge: d trace / d logit_j = (d trace / d w) * p (delta - p_j), by a central difference in w.
  NasiSearch search("nasbench201");
  const Sample sample("nasbench201:0");
  const TensorBatch batch = sample.batch(8);
  const auto measured = search.nasi.measure(batch, "test", 3, true);
  ASSERT_EQ(measured.gradient.size(), 1u);
  // A softmax moves no mass in all: every row of the gradient sums to zero.
  EXPECT_TRUE(at::allclose(measured.gradient[0].sum(1), at::zeros({6}), 1e-4, 1e-4 * measured.trace));
  EXPECT_GT(measured.gradient[0].abs().max().item<double>(), 0);
}

TEST(Nasi, ALargePenaltyTurnsTheDirectionAround) {
  // With mu = 2 and every trace above nu, R = -trace + constant: each step's gradient is that of mu = 0, negated.
  NasiSearch up("nasbench201", {.steps = 4, .mu = 0, .constraint = "fixed", .nu = 1e-9});
  NasiSearch down("nasbench201", {.steps = 4, .mu = 2, .constraint = "fixed", .nu = 1e-9});
  up.run(0, 4);
  down.run(0, 4);
  State a, b;
  up.nasi.save(a, "");
  down.nasi.save(b, "");
  EXPECT_TRUE(at::allclose(a.tensor("moved.0"), -b.tensor("moved.0"), 1e-4, 1e-6));
  // Each step adds a vector no longer than 1.
  EXPECT_LE(a.tensor("moved.0").norm().item<double>(), 4 + 1e-6);
}

TEST(TeNas, APrunedSupernetWithOneOperationPerEdgeIsThatNetwork) {
  const Sample sample("|nor_conv_3x3~0|+|none~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_1x1~1|nor_conv_3x3~2|");
  const NetworkPlan supernet = plan_supernet(*sample.space, sample.size, sample.input, 4);
  const NetworkPlan pruned = pruned_plan(supernet, {{"cell", {{3}, {0}, {4}, {1}, {2}, {3}}}});
  const at::Tensor images = sample.batch(5).images;
  const Network network(pruned, 1, "lecun"), expected(sample.plan(), 1, "lecun");
  const Tape a(network), b(expected);
  EXPECT_TRUE(at::allclose(forward(a, images).values[a.logits()], forward(b, images).values[b.logits()], 1e-4, 1e-5));
}

TEST(TeNas, PrunesToAnArchitectureOfTheSpace) {
  const Sample sample("nasbench201:0");
  const TeNasSetup setup{.space = sample.space, .images = sample.batch(4), .classes = 4, .seed = 1};
  const TeNasOptions options{.repeats = 1, .batch = 4, .channels = 2, .regions = 30};
  const Genotype found = te_nas(setup, options);
  EXPECT_NO_THROW(setup.space->validate(found));
  EXPECT_EQ(te_nas(setup, options), found);
}

TEST(TeNas, RefusesOperationsOnNodes) {
  const Sample sample("nasbench201:0");
  EXPECT_THROW(te_nas({.space = find_space("nasbench1shot1-s1"), .images = sample.batch(4), .classes = 4}, {}), Error);
}

}  // namespace
}  // namespace nascent
