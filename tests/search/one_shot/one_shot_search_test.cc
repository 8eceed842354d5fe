#include "nascent/search/one_shot/one_shot_search.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/inherit.h"
#include "nascent/search/one_shot/one_hot.h"
#include "nascent/train/predictions.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

// Keeps events in memory.
class Memory : public EventSink {
 public:
  void emit(const Event& event) override { events.push_back(event); }
  void rewind(int64_t step) override {
    std::erase_if(events, [&](const Event& event) { return event.step > step; });
  }
  std::vector<Event> events;
};

// A search small enough to run in a test, on random images.
struct SmallSearch {
  explicit SmallSearch(OneShotOptions options = {}, const std::string& space_name = "nasbench201", int partial = 1,
                       int side = 8, int batch = 8, double single_level_fraction = 0)
      : space(find_space(space_name)) {
    DataOptions data_options;
    data_options.name = "random";
    data_options.size = 6 * batch;
    data_options.shape = {3, static_cast<double>(side), static_cast<double>(side)};
    data_options.batch = batch;
    if (options.objective == "single-level") data_options.valid_fraction = single_level_fraction;
    NetworkOptions network;
    network.channels = 4;
    network.cells = space_name == "nasbench201" ? 1 : 3;
    network.partial = partial;
    data = std::make_unique<ImageData>(data_options, 1);
    plan = plan_supernet(*space, network, data->shape(), data->classes());
    if (options.epochs == 50) options.epochs = 2;
    supernet = std::make_shared<Network>(plan, 1);
    searcher = std::make_unique<OneShotSearch>(
        space, supernet, [this](SearchData part) { return loader(part); }, options, 1);
  }

  std::unique_ptr<Loader> loader(SearchData part) const {
    const Split& split = data->split();
    if (part == SearchData::train) return data->training(split.train, "search");
    if (part == SearchData::train_again) return data->training(split.train, "architecture");
    if (part == SearchData::held_out) return data->training(split.valid, "architecture");
    if (part == SearchData::judge) return split.valid.empty() ? nullptr : data->evaluation(split.valid);
    return data->evaluation(split.train);
  }

  std::string state() const {
    State state;
    searcher->save(state, "");
    return state.serialise();
  }

  std::shared_ptr<const Space> space;
  std::unique_ptr<ImageData> data;
  NetworkPlan plan;
  std::shared_ptr<Network> supernet;
  std::unique_ptr<OneShotSearch> searcher;
};

OneShotOptions method(const std::string& relaxation, const std::string& update, const std::string& gradient,
                      const std::string& objective = "bilevel", const std::string& domain = "auto") {
  OneShotOptions options;
  options.relaxation.relaxation = relaxation;
  options.relaxation.domain = domain;
  options.update.update = update;
  options.gradient.gradient = gradient;
  options.objective = objective;
  return options;
}

OneShotOptions with_edge_weights(OneShotOptions options) {
  options.relaxation.edge_weights = true;
  options.discretisation = "edge-weighted";
  return options;
}

OneShotOptions with_blocks(OneShotOptions options, const std::string& blocks) {
  options.blocks = blocks;
  return options;
}

struct Method {
  std::string name;
  OneShotOptions options;
  int partial = 1;
};
void PrintTo(const Method& method, std::ostream* out) { *out << method.name; }

class EveryMethod : public testing::TestWithParam<Method> {};

// Stopped after any number of steps and resumed, a search ends in the same bytes.
TEST_P(EveryMethod, ResumesExactly) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("nascent-search-{}-{}", ::getpid(), GetParam().name);
  SmallSearch whole(GetParam().options, "nasbench201", GetParam().partial);
  Memory whole_events;
  run_job(*whole.searcher, {.events = &whole_events});

  CheckpointStore store(folder);
  Memory events;
  int parts = 0;
  for (bool done = false; !done; ++parts) {
    SmallSearch part(GetParam().options, "nasbench201", GetParam().partial);
    try {
      run_job(*part.searcher, {.checkpoints = &store, .events = &events, .resume = true, .stop_after_steps = 2});
      EXPECT_EQ(part.state(), whole.state());
      EXPECT_EQ(part.searcher->genotype(), whole.searcher->genotype());
      done = true;
    } catch (const Interrupted&) {
      request_interrupt(false);
    }
  }
  EXPECT_GE(parts, 2);
  ASSERT_EQ(events.events.size(), whole_events.events.size());
  for (size_t i = 0; i < events.events.size(); ++i)
    EXPECT_EQ(events.events[i].values, whole_events.events[i].values) << i;
  std::filesystem::remove_all(folder);
}

TEST_P(EveryMethod, FindsAMemberOfTheSpace) {
  for (const std::string space : {"nasbench201", "darts", "nasbench1shot1-s1"}) {
    OneShotOptions options = GetParam().options;
    options.epochs = 1;
    if (options.discretisation == "best-sample") options.samples = 3;
    SmallSearch search(options, space, GetParam().partial);
    run_job(*search.searcher, {});
    EXPECT_NO_THROW(search.space->validate(search.searcher->genotype())) << space;
  }
}

std::vector<Method> methods() {
  std::vector<Method> all = {
      {"darts_first", method("softmax", "optimizer", "first-order")},
      {"darts_second", method("softmax", "optimizer", "unrolled")},
      {"darts_erm", method("softmax", "optimizer", "first-order", "single-level")},
      {"amended", method("softmax", "optimizer", "amended")},
      {"gaea", method("simplex", "exponentiated-gradient", "first-order")},
      {"gdas", method("gumbel", "optimizer", "first-order")},
      {"gaea_gdas", method("gumbel", "exponentiated-gradient", "first-order", "bilevel", "simplex")},
      {"snas", method("concrete", "optimizer", "first-order")},
      {"pr_darts", method("gates", "optimizer", "first-order")},
      {"rs_ws", method("single-path", "optimizer", "first-order")},
      {"enas", method("controller", "optimizer", "reinforce")},
      {"xnas", method("simplex", "xnas", "clipped")},
      {"pc_darts", with_edge_weights(method("softmax", "optimizer", "first-order")), 4},
      {"gaea_pc_darts", with_edge_weights(method("simplex", "exponentiated-gradient", "first-order")), 2},
  };
  for (const std::string blocks : {"cyclic", "random", "two-batches"}) {
    all.push_back({"gaea_erm_" + (blocks == "two-batches" ? "two" : blocks),
                   with_blocks(method("simplex", "exponentiated-gradient", "first-order", "single-level"), blocks)});
  }
  for (auto& item : all) {
    if (item.name != "rs_ws" && item.name != "enas") continue;
    item.options.discretisation = "best-sample";
    item.options.samples = 5;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, testing::ValuesIn(methods()),
                         [](const auto& info) { return info.param.name; });

// Both engines take the same twenty steps, each from the state in which the plain operations are: roundings grow from
// step to step, and LibTorch's own two memory formats drift apart by a hundredth in twenty steps.
TEST(OneShotSearch, BothEnginesTakeTheSameSteps) {
  OneShotOptions options;
  options.epochs = 20;
  for (const std::string space : {"nasbench201", "darts"}) {
    SmallSearch plain(options, space, 1, 16, 16), fused(options, space, 1, 16, 16);
    plain.supernet->use_channels_last(true);
    const auto step = [](SmallSearch& search, Engine engine, int64_t epoch, int64_t step) {
      const EngineScope scope(engine);
      Memory events;
      if (step == 0) search.searcher->start_epoch(epoch, 0, events);
      search.searcher->step(epoch, step, events);
      return events.events.back().values;
    };
    for (int64_t i = 0; i < 20; ++i) {
      State state;
      plain.searcher->save(state, "");
      fused.searcher->load(state, "");
      const int64_t epoch = i / plain.searcher->steps(), at = i % plain.searcher->steps();
      const Json expected = step(plain, Engine::reference, epoch, at), found = step(fused, Engine::fused, epoch, at);
      const auto close = [&](const std::string& name, double tolerance) {
        const double truth = expected.at(name);
        EXPECT_NEAR(found.at(name).get<double>(), truth, tolerance * truth) << space << ", step " << i << ", " << name;
      };
      close("train_loss", 1e-4);
      close("valid_loss", 1e-4);
      close("grad_norm", 1e-3);
    }
  }
}

TEST(OneShotSearch, FrozenArchitectureDoesNotMove) {
  OneShotOptions options;
  options.freeze_epochs = 2;
  SmallSearch search(options);
  const at::Tensor before = search.searcher->probabilities().at("cell").ops.detach().clone();
  run_job(*search.searcher, {});
  EXPECT_TRUE(search.searcher->probabilities().at("cell").ops.equal(before));
}

// Which block each step of a single-level search moves: 'w' weights, 'a' architecture, 'b' both.
std::string moved_blocks(const std::string& blocks, int freeze_epochs = 0) {
  OneShotOptions options =
      with_blocks(method("simplex", "exponentiated-gradient", "first-order", "single-level"), blocks);
  options.freeze_epochs = freeze_epochs;
  options.epochs = 3;
  SmallSearch search(options);
  Memory events;
  std::string moved;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    search.searcher->start_epoch(epoch, 0, events);
    for (int64_t step = 0; step < search.searcher->steps(); ++step) {
      const at::Tensor architecture = search.searcher->probabilities().at("cell").ops.detach().clone();
      const Weights weights = copy_of(weights_of(*search.supernet));
      search.searcher->step(epoch, step, events);
      const bool a = !architecture.equal(search.searcher->probabilities().at("cell").ops);
      bool w = false;
      const Weights after = weights_of(*search.supernet);
      for (size_t i = 0; i < weights.size(); ++i) {
        if (after[i].first.find("running") == std::string::npos) w = w || !weights[i].second.equal(after[i].second);
      }
      moved += a && w ? 'b' : a ? 'a' : w ? 'w' : '-';
    }
  }
  return moved;
}

// GAEA, Algorithm 1: one block a step.
TEST(SingleLevel, MovesTheBlocksItIsToldTo) {
  EXPECT_EQ(moved_blocks("both"), std::string(18, 'b'));
  EXPECT_EQ(moved_blocks("two-batches"), std::string(18, 'b'));
  EXPECT_EQ(moved_blocks("cyclic"), "wawawawawawawawawa");
  EXPECT_EQ(moved_blocks("cyclic", 1), "wwwwwwwawawawawawa");
  const std::string random = moved_blocks("random");
  EXPECT_EQ(random.find_first_not_of("wa"), std::string::npos) << random;
  EXPECT_THAT(random, testing::AllOf(testing::HasSubstr("w"), testing::HasSubstr("a")));
  EXPECT_THAT(random, testing::Not(testing::StartsWith("wawawawa")));
}

TEST(SingleLevel, BlocksOfABilevelSearchAreRefused) {
  const OneShotOptions options = with_blocks(method("softmax", "optimizer", "first-order"), "cyclic");
  EXPECT_THAT([&] { SmallSearch search(options); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("--blocks (search.blocks) is \"cyclic\"")));
}

// What a single-level search holds out it does not train on, and what it trains on it does not call held out.
TEST(SingleLevel, AccuraciesSayWhatTheyAreMeasuredOn) {
  OneShotOptions options = method("softmax", "optimizer", "first-order", "single-level");
  options.epochs = 1;
  options.judge_images = 8;
  const auto last_epoch = [](SmallSearch& search) {
    Memory events;
    run_job(*search.searcher, {.events = &events});
    for (const auto& event : events.events) {
      if (event.kind == "epoch") return event.values;
    }
    return Json();
  };
  SmallSearch all(options);
  EXPECT_EQ(all.searcher->describe_data(), "48 images train weights and architecture");
  const Json of_all = last_epoch(all);
  EXPECT_TRUE(of_all.contains("supernet_train_top1") && of_all.contains("discretised_train_top1"));
  EXPECT_TRUE(of_all.contains("supernet_running_train_top1") && of_all.contains("discretised_running_train_top1"));
  EXPECT_FALSE(of_all.contains("supernet_top1") || of_all.contains("discretised_top1"));
  SmallSearch part(options, "nasbench201", 1, 8, 8, /*single_level_fraction=*/0.5);
  EXPECT_EQ(part.searcher->describe_data(), "24 images train weights and architecture, 24 are held out");
  EXPECT_EQ(part.searcher->steps(), 3);
  const Json of_part = last_epoch(part);
  EXPECT_TRUE(of_part.contains("supernet_top1") && of_part.contains("discretised_top1"));
  SmallSearch bilevel(method("softmax", "optimizer", "first-order"));
  EXPECT_EQ(bilevel.searcher->describe_data(), "24 images train the weights, 24 the architecture");
}

// At a temperature of 10 every gate is open with a probability that is 1 in float: the first operation used to win.
TEST(PrDarts, LeansByLogitsWhereProbabilitiesRoundToOne) {
  OneShotOptions options = method("gates", "optimizer", "first-order");
  SmallSearch search(options);
  State state;
  search.searcher->save(state, "");
  state.put("relaxation.cell.gates", at::arange(30, at::kFloat).view({6, 5}) * 1e-3);
  search.searcher->load(state, "");
  EXPECT_EQ(search.searcher->probabilities().at("cell").ops.min().item<float>(), 1.0f);
  const Genotype leaning = search.searcher->leaning();
  for (const auto& node : leaning.cell("cell").nodes) {
    for (const auto& edge : node.edges) EXPECT_EQ(edge.op, "avg_pool_3x3");  // the last of the space
  }
  EXPECT_EQ(search.searcher->genotype(), leaning);
}

// Random search with weight sharing prefers nothing, so it must not seem to prefer what stands first, `none`.
TEST(RsWs, LeansToAnArchitectureOfItsOwn) {
  OneShotOptions options = method("single-path", "optimizer", "first-order");
  options.discretisation = "best-sample";
  options.relaxation.exclude = {"nor_conv_1x1"};
  SmallSearch search(options);
  std::set<std::string> ops;
  Memory events;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    search.searcher->start_epoch(epoch, 0, events);
    for (int64_t step = 0; step < search.searcher->steps(); ++step) {
      search.searcher->step(epoch, step, events);
      const Genotype leaning = search.searcher->leaning();
      for (const auto& node : leaning.cell("cell").nodes) {
        for (const auto& edge : node.edges) ops.insert(edge.op);
      }
    }
  }
  EXPECT_THAT(ops, testing::UnorderedElementsAre("none", "skip_connect", "nor_conv_3x3", "avg_pool_3x3"));
}

// The supernet drops paths as the training of networks does, and its second head takes part in the loss.
TEST(OneShotSearch, HonoursDropPathAndAuxiliaryHead) {
  const auto losses = [](double drop_path, bool auxiliary, double weight) {
    const auto space = find_space("darts");
    const ImageData data(
        [] {
          DataOptions options;
          options.name = "random";
          options.size = 32;
          options.shape = {3, 8, 8};
          options.batch = 8;
          return options;
        }(),
        1);
    const NetworkPlan plan =
        plan_supernet(*space, {.channels = 4, .cells = 3, .auxiliary = auxiliary}, data.shape(), 10);
    OneShotOptions options;
    options.epochs = 2;
    options.drop_path = drop_path;
    options.auxiliary_weight = weight;
    OneShotSearch search(
        space, std::make_shared<Network>(plan, 1),
        [&](SearchData part) {
          return data.training(part == SearchData::held_out ? data.split().valid : data.split().train, "search");
        },
        options, 1);
    Memory events;
    run_job(search, {.events = &events});
    std::vector<double> all;
    for (const auto& event : events.events) {
      if (event.kind == "step") all.push_back(event.values.at("train_loss"));
    }
    return all;
  };
  const auto plain = losses(0, false, 0.4), dropped = losses(0.5, false, 0.4), second = losses(0, true, 0.4);
  EXPECT_EQ(dropped[0], plain[0]) << "the probability rises from 0";
  EXPECT_NE(dropped[1], plain[1]);
  EXPECT_GT(second[0], plain[0] + 0.5);
  EXPECT_NE(losses(0, true, 0.2)[0], second[0]);
  EXPECT_THROW(losses(0, false, 0.2), Error) << "there is no head to weight";
}

// A search that can only choose skip connections says so at the end of every epoch in which it chooses.
TEST(OneShotSearch, TellsOfACollapse) {
  OneShotOptions options = method("simplex", "exponentiated-gradient", "first-order");
  options.relaxation.exclude = {"none", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"};
  options.epochs = 3;
  options.freeze_epochs = 1;
  SmallSearch search(options);
  Memory events;
  EXPECT_EQ(search.searcher->collapse(), "");
  run_job(*search.searcher, {.events = &events});
  EXPECT_EQ(search.searcher->collapse(), "every edge of the cell is skip_connect");
  std::vector<int64_t> epochs;
  for (const auto& event : events.events) {
    if (event.kind == "collapse") epochs.push_back(event.epoch);
  }
  EXPECT_EQ(epochs, (std::vector<int64_t>{1, 2}));
}

TEST(OneShotSearch, ALossThatIsNotFiniteLeavesTheWeightsAlone) {
  OneShotOptions options;
  options.weights.lr = 1e30;
  options.weights.clip = 0;
  SmallSearch search(options);
  EXPECT_THAT([&] { run_job(*search.searcher, {}); },
              testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("step"), testing::HasSubstr("nan"))));
}

TEST(OneShotSearch, EmitsTheArchitectureEveryEpoch) {
  OneShotOptions options;
  options.judge_images = 8;
  SmallSearch search(options);
  Memory events;
  run_job(*search.searcher, {.events = &events});
  int epochs = 0, architectures = 0;
  for (const auto& event : events.events) {
    if (event.kind == "epoch") {
      ++epochs;
      for (const char* key :
           {"train_loss", "valid_top1", "entropy", "skip_connections", "supernet_top1", "discretised_top1"}) {
        EXPECT_TRUE(event.values.contains(key)) << key;
      }
    }
    if (event.kind == "architecture") {
      ++architectures;
      EXPECT_EQ(event.values.at("cells").at("cell").at("probabilities").size(), 6u);
    }
  }
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(architectures, 2);
}

TEST(OneShotSearch, JudgesByBatchAndByRunningStatistics) {
  OneShotOptions options;
  options.judge_images = 24;
  SmallSearch search(options);
  Memory events;
  run_job(*search.searcher, {.events = &events});
  Json last;
  for (const auto& event : events.events) {
    if (event.kind == "epoch") last = event.values;
  }
  const auto judge = search.loader(SearchData::judge);
  const auto expect = [&](const std::string& what, const Mixture& mixture) {
    const auto accuracy = [&](NormStatistics norms) {
      return top1(predict(*search.supernet, *judge, {.norms = norms, .images = 24, .context = {.mixture = &mixture}}));
    };
    EXPECT_EQ(last.at(what + "_top1"), accuracy(NormStatistics::batch));
    EXPECT_EQ(last.at(what + "_running_top1"), accuracy(NormStatistics::running));
    EXPECT_NE(last.at(what + "_top1"), last.at(what + "_running_top1")) << "could not tell them apart";
  };
  expect("supernet", search.searcher->probabilities());
  expect("discretised", one_hot(*search.space, search.searcher->leaning()));
}

TEST(OneShotSearch, JudgingLeavesNoTrace) {
  OneShotOptions plain, judged;
  judged.judge_images = 8;
  SmallSearch a(plain), b(judged);
  run_job(*a.searcher, {});
  run_job(*b.searcher, {});
  EXPECT_EQ(a.state(), b.state());
}

// A supernet whose weights are one-hot is the network derived from it.
TEST(OneShot, EqualsTheDerivedNetwork) {
  for (const std::string name : {"nasbench201", "darts", "nasbench1shot1-s2"}) {
    SmallSearch search({}, name);
    RandomStream random(4, name);
    const Genotype genotype = search.space->sample(random);
    const Mixture mixture = one_hot(*search.space, genotype);
    Network derived(derive_plan(search.plan, genotype), 9);
    copy_weights(*search.supernet, derived);
    at::NoGradGuard no_grad;
    const at::Tensor images = at::linspace(-1, 1, 4 * 3 * 8 * 8).view({4, 3, 8, 8});
    const at::Tensor shared = search.supernet->forward(images, {.mixture = &mixture}).logits;
    EXPECT_LT((shared - derived.forward(images).logits).abs().max().item<double>(), 1e-6) << name;
  }
}

// With all channels and uniform edges, PC-DARTS is DARTS but for the factor 1/n that n uniform edges into a node bring:
// DARTS with weights p/n has the same loss, and by the chain rule gradients n times as large.
TEST(PcDarts, WithAllChannelsAndUniformEdgesIsDarts) {
  for (const std::string name : {"nasbench201", "darts"}) {
    OneShotOptions options = with_edge_weights(method("simplex", "exponentiated-gradient", "first-order"));
    SmallSearch search(options, name, /*partial=*/1);
    auto loader = search.loader(SearchData::train);
    loader->start(0);
    const TensorBatch batch = to_tensors(*loader->next());
    const auto relaxation =
        Relaxation::Registry::instance().make("simplex", RelaxationSetup{*search.space, options.relaxation, 1});
    OneShotLoss problem(search.supernet, *relaxation, {});
    const Mixture weighted = problem.relaxation().mixture({.seed = 1});
    Mixture plain;
    std::vector<at::Tensor> weighted_inputs = search.supernet->parameters();
    std::vector<at::Tensor> plain_inputs = weighted_inputs;
    for (const auto& cell : search.space->cells()) {
      const auto edges = Space::edges(cell);
      at::Tensor scale = at::empty({static_cast<int64_t>(edges.size()), 1});
      for (size_t i = 0; i < edges.size(); ++i)
        scale[static_cast<int64_t>(i)] = 1.0 / edges[i].to;  // all states before
      EXPECT_TRUE(at::allclose(weighted.at(cell.type).edges, scale.squeeze(1)));
      plain[cell.type].ops = (weighted.at(cell.type).ops.detach() * scale).requires_grad_();
      weighted_inputs.push_back(weighted.at(cell.type).ops);
      plain_inputs.push_back(plain[cell.type].ops);
    }
    const auto pc = problem.loss(batch, weighted), darts = problem.loss(batch, plain);
    EXPECT_NEAR(pc.value.item<double>(), darts.value.item<double>(), 1e-6) << name;
    const auto pc_gradients = gradients(pc.value, weighted_inputs), gradients_of = gradients(darts.value, plain_inputs);
    for (size_t i = 0; i < weighted_inputs.size(); ++i) {
      if (!pc_gradients[i].defined()) continue;
      at::Tensor expected = gradients_of[i];
      if (i >= search.supernet->parameters().size()) {
        const auto& cell = search.space->cells()[i - search.supernet->parameters().size()];
        const auto edges = Space::edges(cell);
        expected = expected.clone();
        for (size_t row = 0; row < edges.size(); ++row) expected[static_cast<int64_t>(row)].div_(edges[row].to);
      }
      EXPECT_TRUE(at::allclose(pc_gradients[i], expected, 1e-3, 1e-6)) << name << " " << i;
    }
  }
}

TEST(ClippedGradient, EqualsTheFirstOrderGradientWhereNothingIsClipped) {
  SmallSearch search;
  SearchPlace place{.seed = 1};
  auto loader = search.loader(SearchData::held_out);
  loader->start(0);
  const TensorBatch batch = to_tensors(*loader->next());
  RelaxationOptions relaxation_options;
  auto relaxation =
      Relaxation::Registry::instance().make("softmax", RelaxationSetup{*search.space, relaxation_options, 1});
  OneShotLoss problem(search.supernet, *relaxation, {});
  GradientOptions options;
  options.bound = 1e6;
  const OptimizerOptions weights;
  const auto optimizer = make_optimizer(weights, problem.weights());
  const GradientSetup setup{problem, options, weights, *optimizer};
  const auto first =
      ArchitectureGradient::Registry::instance().make("first-order", setup)->compute({batch, batch, place});
  const auto clipped =
      ArchitectureGradient::Registry::instance().make("clipped", setup)->compute({batch, batch, place});
  EXPECT_NEAR(clipped.loss, first.loss, 1e-5);
  EXPECT_LT((clipped.gradients[0] - first.gradients[0]).norm().item<double>(),
            1e-4 * first.gradients[0].norm().item<double>() + 1e-8);
  options.bound = 1e-4;
  const auto tight = ArchitectureGradient::Registry::instance().make("clipped", setup)->compute({batch, batch, place});
  EXPECT_LT(tight.gradients[0].abs().max().item<double>(), 1e-4);
}

// Weights of edges (1Shot1) and penalties have a part in the clipped gradient as in any other.
TEST(ClippedGradient, KnowsOfEdgesAndRegularisers) {
  SmallSearch search({}, "nasbench1shot1-s1");
  auto loader = search.loader(SearchData::held_out);
  loader->start(0);
  const TensorBatch batch = to_tensors(*loader->next());
  const RelaxationOptions relaxation_options{.spread = 0.5};
  auto relaxation =
      Relaxation::Registry::instance().make("softmax", RelaxationSetup{*search.space, relaxation_options, 1});
  GradientOptions options;
  options.bound = 1e6;
  const OptimizerOptions weights;
  const auto compute = [&](const std::string& gradient, const std::vector<std::string>& regularisers) {
    OneShotLoss problem(search.supernet, *relaxation, make_regularisers(regularisers, *search.space, search.plan));
    const auto optimizer = make_optimizer(weights, problem.weights());
    return ArchitectureGradient::Registry::instance()
        .make(gradient, GradientSetup{problem, options, weights, *optimizer})
        ->compute({batch, batch, {.seed = 1}});
  };
  for (const std::vector<std::string>& regularisers : {std::vector<std::string>{}, {"entropy 0.3"}}) {
    const auto first = compute("first-order", regularisers), clipped = compute("clipped", regularisers);
    EXPECT_NEAR(clipped.loss, first.loss, 1e-4);
    ASSERT_EQ(first.gradients.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(clipped.gradients[i].defined()) << i;
      const double size = first.gradients[i].norm().item<double>();
      EXPECT_GT(size, 1e-6);
      EXPECT_LT((clipped.gradients[i] - first.gradients[i]).norm().item<double>(), 1e-3 * size + 1e-7) << i;
    }
  }
}

}  // namespace
}  // namespace nascent
