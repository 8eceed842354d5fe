#include "nascent/train/shards.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "train/random_tensors.h"
#include "train/toy.h"

namespace nascent::shards_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TensorBatch batch_of(int images) {
  const auto loader = toy::loader(toy::dataset(images), images, false);
  loader->start(0);
  return to_tensors(*loader->next());
}

TensorBatch rows(const TensorBatch& batch, int64_t first, int64_t count) {
  return {batch.images.narrow(0, first, count), batch.labels.narrow(0, first, count)};
}

Tensors gradients_on(Network& network, const TensorBatch& batch) {
  return gradients(classification_loss(network.forward(batch.images).logits, batch.labels), network.parameters());
}

TEST(Shards, OneIsTheBatchItself) {
  const auto network = toy::network(), twin = toy::network();
  const TensorBatch batch = batch_of(12);
  Shards shards(1, *network);
  const Tensors found = shards.mean([&](const Shard& shard) { return gradients_on(*network, shard.of(batch)); });
  const Tensors expected = gradients_on(*twin, batch);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].defined(), expected[i].defined());
    EXPECT_TRUE(!found[i].defined() || found[i].equal(expected[i]));
  }
  for (size_t i = 0; i < network->buffers().size(); ++i) {
    EXPECT_TRUE(network->buffers()[i].equal(twin->buffers()[i]));
  }
}

// Each shard has batch statistics of its own; what they would do to the running ones counts as a mean.
TEST(Shards, GiveTheMeanOfWhatEachGivesAlone) {
  const auto network = toy::network();
  const TensorBatch batch = batch_of(12);
  Shards shards(3, *network);
  const Tensors found = shards.mean([&](const Shard& shard) { return gradients_on(*network, shard.of(batch)); });
  std::vector<Tensors> parts, statistics;
  for (int shard = 0; shard < 3; ++shard) {
    const auto alone = toy::network();
    parts.push_back(gradients_on(*alone, rows(batch, 4 * shard, 4)));
    statistics.push_back(alone->buffers());
  }
  const auto mean = [](const std::vector<Tensors>& of, size_t i) { return (of[0][i] + of[1][i] + of[2][i]) / 3; };
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].defined(), parts[0][i].defined());
    EXPECT_TRUE(!found[i].defined() || distance(found[i], mean(parts, i)) < 1e-6) << i;
  }
  const auto buffers = network->buffers();
  ASSERT_FALSE(buffers.empty());
  for (size_t i = 0; i < buffers.size(); ++i) EXPECT_LT(distance(buffers[i], mean(statistics, i)), 1e-6) << i;
}

TEST(Shards, WhatNoneHasIsUndefinedAndWhatOneLacksIsNothing) {
  const auto network = toy::network();
  Shards shards(2, *network);
  const Tensors mean = shards.mean([&](const Shard& shard) {
    return Tensors{at::Tensor(), shard.index == 1 ? at::full({2}, 3.0) : at::Tensor(), at::full({1}, 5.0)};
  });
  EXPECT_FALSE(mean[0].defined());
  EXPECT_TRUE(mean[1].equal(at::full({2}, 1.5)));
  EXPECT_TRUE(mean[2].equal(at::full({1}, 5.0)));
}

TEST(Shards, DrawForThemselves) {
  EXPECT_EQ(Shard{}.own(7), 7u) << "as without shards";
  const uint64_t second = Shard{.index = 1}.own(7);
  EXPECT_NE(second, 7u);
  EXPECT_NE(second, Shard{.index = 2}.own(7));
}

TEST(Shards, ThatDoNotFitAreRefused) {
  check_shards(1, 1);
  check_shards(4, 8);
  EXPECT_THAT([] { check_shards(3, 8); }, ThrowsMessage<Error>(HasSubstr("--shards 3: a batch of 8 images cannot")));
  EXPECT_THAT([] { check_shards(8, 8); }, ThrowsMessage<Error>(HasSubstr("of two images or more")));
}

// A training in shards is one of its own, that learns and resumes as any other.
TEST(Shards, OfATrainingDecideItsResult) {
  const auto weights = [](int shards) {
    auto options = toy::options(2);
    options.shards = shards;
    const auto trainer = toy::trainer(options);
    run_job(*trainer, {});
    State state;
    trainer->save(state, "");
    return state.serialise();
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_EQ(weights(3), weights(3));
  EXPECT_NE(weights(1), weights(3));
  auto options = toy::options(12);
  options.shards = 2;
  const auto trainer = toy::trainer(options);
  run_job(*trainer, {});
  EXPECT_GT(trainer->best().top1, 90);
}

}  // namespace
}  // namespace nascent::shards_test
