// Searches without training: NASI.
#include "nascent/search/at_initialisation/nasi.h"

#include <gtest/gtest.h>

#include "nascent/data/image_data.h"
#include "nascent/nn/inherit.h"
#include "nascent/train/second_order.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::Sample;

class KeptEvents : public EventSink {
 public:
  void emit(const Event& event) override { events.push_back(event); }
  void rewind(int64_t) override {}
  std::vector<Event> events;
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
  std::vector<Event> run(int64_t from, int64_t to) {
    KeptEvents events;
    nasi.start_epoch(0, from, events);
    for (int64_t step = from; step < to; ++step) nasi.step(0, step, events);
    return events.events;
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
  // What each candidate's weight does to the squared gradient norm, drawn or not, by central differences in double
  // precision; times the derivative of the softmax.
  NasiSearch search("nasbench201");
  const Sample sample("nasbench201:0");
  TensorBatch batch = sample.batch(8);
  search.supernet->to(at::kDouble);
  batch.images = batch.images.to(at::kDouble);
  const NasiCell cell(*search.space, search.space->cells()[0]);
  RandomStream random(1, "test", {3});
  const CellMixture drawn = cell.sample(random, 1, true);
  const auto trace = [&](const at::Tensor& weights) {
    const Mixture mixture = {{"cell", {.ops = weights, .edges = {}, .active = {}}}};
    const auto logits = search.supernet->forward(batch.images, {.mixture = &mixture}).logits;
    double sum = 0;
    for (const auto& part :
         dense_gradients(at::cross_entropy_loss(logits, batch.labels), search.supernet->parameters())) {
      sum += part.square().sum().item<double>();
    }
    return sum;
  };
  const at::Tensor hard = drawn.ops.detach().to(at::kDouble);
  at::Tensor effect = at::zeros({6, 5}, at::kDouble);
  constexpr double kStep = 1e-6;
  for (int64_t i = 0; i < effect.numel(); ++i) {
    at::Tensor moved = at::zeros_like(hard);
    moved.view(-1)[i] = kStep;
    effect.view(-1)[i] = (trace(hard + moved) - trace(hard - moved)) / (2 * kStep);
  }
  const at::Tensor expected = dense_gradients((drawn.ops * effect).sum(), cell.logits())[0].to(at::kDouble);
  const auto found = search.nasi.measure(batch, "test", 3, true);
  EXPECT_GT(expected.abs().max().item<double>(), 0);
  EXPECT_LT((found.gradient[0] - expected).norm().item<double>(), 1e-3 * expected.norm().item<double>());
}

TEST(Nasi, NuIsTheEnlargedMedianOfFiftySamples) {
  NasiSearch search("nasbench201", {.steps = 1, .constraint = "fixed", .average = "median", .enlarge = 3});
  const double nu = search.run(0, 1).at(0).values.at("nu");
  const auto data = search.data.training(search.data.all(), "nasi");
  data->start(0);
  const TensorBatch batch = to_tensors(std::move(*data->next()), *search.supernet);
  std::vector<double> traces;
  for (uint64_t i = 0; i < 50; ++i) traces.push_back(search.nasi.measure(batch, "nasi bound", i, false).trace);
  std::sort(traces.begin(), traces.end());
  EXPECT_NEAR(nu, 3 * traces[25], 1e-6 * nu);
}

TEST(Nasi, AnAdaptiveNuFollowsEquation615) {
  NasiSearch search("nasbench201", {.steps = 5, .nu = 7, .average = "mean", .enlarge = 1});
  double sum = 7;
  int count = 1;
  for (const Event& event : search.run(0, 5)) {
    EXPECT_NEAR(event.values.at("nu").get<double>(), sum / count, 1e-9 * sum);
    sum += event.values.at("trace").get<double>();
    ++count;
  }
}

TEST(Nasi, LikelihoodsAreThoseOfTheDraws) {
  // An edge draws one of five operations: p = 1/5 each, so d log p / d logit is 4/5 for the drawn and -1/5 elsewhere.
  const auto space = find_space("nasbench201");
  const NasiCell cell(*space, space->cells()[0]);
  RandomStream random(1, "test", {3}), again(1, "test", {3});
  const at::Tensor log_probability = cell.log_probability(again);
  EXPECT_NEAR(log_probability.item<double>(), 6 * std::log(0.2), 1e-5);
  const at::Tensor drawn = cell.sample(random, 1).ops.detach();
  EXPECT_TRUE(at::allclose(dense_gradients(log_probability, cell.logits())[0], drawn - 0.2, 1e-5, 1e-6));
}

TEST(Nasi, LikelihoodsOfSeveralInputsCountThemWithoutReplacement) {
  // NAS-Bench-1Shot1, space 1: nodes take 1, 2, 2 and 2 of 1, 2, 3 and 4 inputs, the output 2 of 5, each node one of 3
  // operations. A drawn order of two of n has probability 1 / (n (n - 1)).
  const auto space = find_space("nasbench1shot1-s1");
  const NasiCell cell(*space, space->cells()[0]);
  RandomStream random(1, "test", {3});
  EXPECT_NEAR(cell.log_probability(random).item<double>(), -std::log(81.0 * 2 * 6 * 12 * 20), 1e-4);
}

TEST(Nasi, TheLikelihoodRatioIsTheRewardAboveItsMeanTimesTheScore) {
  NasiSearch search("nasbench201",
                    {.steps = 2, .mu = 0, .constraint = "fixed", .nu = 1, .estimator = "likelihood-ratio"});
  const auto events = search.run(0, 2);
  // The first is its own mean; of the second, half the difference is above it, and (6.13) divides by the norm.
  const NasiCell cell(*search.space, search.space->cells()[0]);
  RandomStream random(1, "nasi sample", {1});
  const at::Tensor score = cell.sample(random, 1).ops.detach() - 0.2;
  const bool rose = events[1].values.at("trace").get<double>() > events[0].values.at("trace").get<double>();
  State state;
  search.nasi.save(state, "");
  EXPECT_TRUE(at::allclose(state.tensor("moved.0"), (rose ? 1 : -1) * score / score.norm(), 1e-4, 1e-5));
}

TEST(Nasi, LeastSquaresRegressTheRewardsOnTheDrawsAndResumeExactly) {
  const NasiOptions options = {.steps = 6, .mu = 0, .constraint = "fixed", .nu = 1, .estimator = "least-squares"};
  NasiSearch whole("nasbench201", options), first("nasbench201", options), second("nasbench201", options);
  const NasiCell cell(*whole.space, whole.space->cells()[0]);
  RewardRegression expected(30);
  uint64_t index = 0;
  for (const Event& event : whole.run(0, 6)) {
    RandomStream random(1, "nasi sample", {index++});
    expected.observe(cell.sample(random, 1).ops.detach() - 0.2, event.values.at("trace").get<double>());
  }
  cell.logits()[0].detach().copy_(expected.coefficients().view({6, 5}));
  EXPECT_EQ(whole.nasi.genotype().cells[0], cell.mode());
  State state, a, b;
  first.run(0, 3);
  first.nasi.save(state, "");
  second.nasi.load(State::parse(state.serialise(), "test"), "");
  second.run(3, 6);
  whole.nasi.save(a, "");
  second.nasi.save(b, "");
  EXPECT_EQ(a.serialise(), b.serialise());
}

// A reward by the operations drawn, in place of the trace. Every 3x3 convolution is worth 1, but on the edge from input
// to output 0.4; there a shortcut is worth 2 where at least four of the others are such convolutions, and costs 0.5
// elsewhere.
class PlantedNasi : public Nasi {
 public:
  using Nasi::Nasi;

  static double value(const std::vector<std::string>& ops) {
    constexpr size_t kShortcut = 3;
    double convolutions = 0;
    for (size_t edge = 0; edge < ops.size(); ++edge) convolutions += edge != kShortcut && ops[edge] == "nor_conv_3x3";
    if (ops[kShortcut] == "nor_conv_3x3") return convolutions + 0.4;
    if (ops[kShortcut] == "skip_connect") return convolutions + (convolutions >= 4 ? 2 : -0.5);
    return convolutions;
  }

  Measured measure(const TensorBatch&, const std::string& purpose, uint64_t index, bool with_gradient) override {
    const auto space = find_space("nasbench201");
    std::vector<std::string> ops;
    const Mixture drawn = sample(purpose, index, false);
    for (const auto& chosen : drawn.at("cell").active) ops.push_back(space->ops()[chosen[0]]);
    return {value(ops), with_gradient ? likelihood_gradient(purpose, index) : std::vector<at::Tensor>()};
  }
};

std::string planted_search(const std::string& estimator, int rounds) {
  const auto space = find_space("nasbench201");
  ImageData data(NasiSearch::data_options(), 1);
  const NasiOptions options{
      .steps = 1200, .mu = 0, .constraint = "fixed", .nu = 1, .estimator = estimator, .rounds = rounds};
  PlantedNasi nasi(space, NasiSearch::make(*space), data.training(data.all(), "nasi"), options, 1);
  run_job(nasi, {});
  return to_text(nasi.genotype(), "nasbench201");
}

TEST(Nasi, SeveralStepsFindWhatPaysOnlyTogetherAndOneStepDoesNot) {
  // The mean over all cells says that a shortcut costs: four of five convolutions are drawn once in 150.
  const std::string convolutions =
      "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|";
  const std::string shortcut =
      "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|";
  for (const std::string estimator : {"least-squares", "likelihood-ratio"}) {
    EXPECT_EQ(planted_search(estimator, 1), convolutions) << estimator;
    EXPECT_EQ(planted_search(estimator, 6), shortcut) << estimator;
  }
}

TEST(Nasi, SeveralStepsResumeExactly) {
  const NasiOptions options = {.steps = 6, .estimator = "least-squares", .rounds = 3};
  NasiSearch whole("nasbench201", options), first("nasbench201", options), second("nasbench201", options);
  whole.run(0, 6);
  State state, a, b;
  first.run(0, 3);
  first.nasi.save(state, "");
  second.nasi.load(State::parse(state.serialise(), "test"), "");
  second.run(3, 6);
  whole.nasi.save(a, "");
  second.nasi.save(b, "");
  EXPECT_EQ(a.serialise(), b.serialise());
  EXPECT_EQ(whole.nasi.genotype(), second.nasi.genotype());
  // Two steps were taken, each of which moves one logit by the stride, and the third leads to the genotype.
  EXPECT_GT(whole.nasi.logits()[0].abs().max().item<double>(), 0);
  EXPECT_LE(whole.nasi.logits()[0].abs().max().item<double>(), 2 * options.stride + 1e-5);
}

TEST(Nasi, ANodeRetainsItsTwoBestInputsAndOperationsByRank) {
  // Thesis 6.4.2: the two largest p(input) and the two largest p(operation), chosen independently.
  const auto space = find_space("darts-nasi");
  const NasiCell cell(*space, space->cells()[0]);
  const auto logits = cell.logits();
  {
    at::NoGradGuard no_grad;
    const int64_t separable =
        std::find(space->ops().begin(), space->ops().end(), "sep_conv_3x3") - space->ops().begin();
    const int64_t skip = std::find(space->ops().begin(), space->ops().end(), "skip_connect") - space->ops().begin();
    logits[0][3][skip].fill_(2);  // operations of the last node
    logits[0][3][separable].fill_(1);
    logits[4][1].fill_(1);  // its inputs: 0 to 4
    logits[4][4].fill_(3);
  }
  const std::vector<GenotypeEdge> expected = {{1, "sep_conv_3x3"}, {4, "skip_connect"}};
  EXPECT_EQ(cell.mode().nodes[3].edges, expected);
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

}  // namespace
}  // namespace nascent
