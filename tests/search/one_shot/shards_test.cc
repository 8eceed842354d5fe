// Searches whose batches are cut into shards.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/data/dataset.h"
#include "nascent/search/one_shot/one_shot_search.h"

namespace nascent::shards_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Method {
  std::string name, relaxation, update, gradient, objective = "bilevel", derivatives = "exact";
  OneShotOptions options() const {
    OneShotOptions options;
    options.epochs = 2;
    options.relaxation.relaxation = relaxation;
    options.update.update = update;
    options.gradient.gradient = gradient;
    options.gradient.second_derivatives = derivatives;
    options.objective = objective;
    if (gradient == "reinforce" || relaxation == "single-path" || relaxation == "fair-path") {
      options.discretisation = "best-sample";
    }
    return options;
  }
};
void PrintTo(const Method& method, std::ostream* out) { *out << method.name; }

constexpr int kImages = 4, kSteps = 3;  // of a shard, of an epoch

// Batches in which every shard holds the same images.
std::unique_ptr<OneShotSearch> search(const OneShotOptions& options, int repeats) {
  DataOptions data;
  data.name = "random";
  data.size = 2 * kImages * kSteps;
  data.shape = {3, 8, 8};
  const std::shared_ptr<const Dataset> images = load_dataset(data, Part::train, 1);
  const auto loader = [images, repeats](SearchData part) {
    const bool train = part == SearchData::train || part == SearchData::train_again;
    std::vector<int64_t> indices;
    for (int step = 0; step < kSteps; ++step) {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        for (int i = 0; i < kImages; ++i) indices.push_back((train ? 0 : kImages * kSteps) + step * kImages + i);
      }
    }
    return std::make_unique<Loader>(images, indices,
                                    TransformPipeline({}, {{0.5, 0.5, 0.5}, {0.25, 0.25, 0.25}}, images->shape()),
                                    LoaderOptions{.batch = repeats * kImages, .drop_last = true});
  };
  const auto space = find_space("nasbench201");
  NetworkOptions network;
  network.channels = 4;
  network.cells = 1;
  const auto plan = plan_supernet(*space, network, images->shape(), static_cast<int>(images->classes()));
  return std::make_unique<OneShotSearch>(space, std::make_shared<Network>(plan, 1), loader, options, 1);
}

class EveryMethodInShards : public testing::TestWithParam<Method> {};

// Then the mean over shards is what one batch of these images gives: gradients of weights and architecture, losses,
// rewards, clipped contributions. Only running statistics, and norms of gradients in another memory format, are rounded
// in another way.
TEST_P(EveryMethodInShards, GivesTheMeanOfItsShards) {
  OneShotOptions options = GetParam().options();
  const auto whole = search(options, 1);
  options.shards = 2;
  const auto sharded = search(options, 2);
  run_job(*whole, {});
  run_job(*sharded, {});
  State expected, found;
  whole->save(expected, "");
  sharded->save(found, "");
  for (const auto& [name, tensor] : expected.tensors()) {
    EXPECT_TRUE(found.tensor(name).allclose(tensor, 1e-4, 1e-5)) << name;
  }
  const auto sums = [](const State& state) { return state.value("sums").get<std::vector<double>>(); };
  const std::vector<double> wanted = sums(expected), seen = sums(found);
  ASSERT_EQ(seen.size(), wanted.size());
  // Norms of gradients are sums of floats, and as large as they happen to be.
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-5 * std::max(1.0, wanted[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Methods, EveryMethodInShards,
    testing::Values(Method{"darts_first", "softmax", "optimizer", "first-order"},
                    Method{"darts_second", "softmax", "optimizer", "unrolled"},
                    Method{"darts_finite", "softmax", "optimizer", "unrolled", "bilevel", "finite"},
                    Method{"amended", "softmax", "optimizer", "amended"},
                    Method{"gaea", "simplex", "exponentiated-gradient", "first-order"},
                    Method{"gaea_erm", "simplex", "exponentiated-gradient", "first-order", "single-level"},
                    Method{"gdas", "gumbel", "optimizer", "first-order"},
                    Method{"snas", "concrete", "optimizer", "first-order"},
                    Method{"pr_darts", "gates", "optimizer", "first-order"},
                    Method{"posterior", "posterior", "optimizer", "first-order"},
                    Method{"rs_ws", "single-path", "optimizer", "first-order"},
                    Method{"fair", "fair-path", "optimizer", "first-order"},
                    Method{"enas", "controller", "optimizer", "reinforce"},
                    Method{"xnas", "simplex", "xnas", "clipped"}),
    [](const auto& info) { return info.param.name; });

std::string state_of(const OneShotOptions& options) {
  const auto job = search(options, options.shards);
  run_job(*job, {});
  State state;
  job->save(state, "");
  return state.serialise();
}

TEST(SamplesPerShard, AreDrawnByEveryShard) {
  for (const auto& [relaxation, gradient] : {std::pair<std::string, std::string>{"gumbel", "first-order"},
                                             {"gates", "first-order"},
                                             {"single-path", "first-order"},
                                             {"controller", "reinforce"}}) {
    OneShotOptions options = Method{"", relaxation, "optimizer", gradient}.options();
    options.shards = 2;
    const std::string together = state_of(options);
    options.relaxation.sample_per_shard = true;
    EXPECT_NE(state_of(options), together) << relaxation;
    EXPECT_EQ(state_of(options), state_of(options)) << relaxation;
  }
}

TEST(SamplesPerShard, NeedShardsAndARelaxationThatSamples) {
  OneShotOptions options = Method{"", "gumbel", "optimizer", "first-order"}.options();
  options.relaxation.sample_per_shard = true;
  EXPECT_THAT([&] { search(options, 1); }, ThrowsMessage<Error>(HasSubstr("--sample-per-shard: batches are not cut")));
  for (const char* relaxation : {"softmax", "fair-path"}) {
    options = Method{"", relaxation, "optimizer", "first-order"}.options();
    options.shards = 2;
    options.relaxation.sample_per_shard = true;
    EXPECT_THAT([&] { search(options, 2); }, ThrowsMessage<Error>(HasSubstr("makes no use of it"))) << relaxation;
  }
}

}  // namespace
}  // namespace nascent::shards_test
