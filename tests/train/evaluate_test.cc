#include "nascent/train/evaluate.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/train/loss.h"
#include "train/toy.h"

namespace nascent {
namespace {

TEST(ClassificationLoss, IsCrossEntropy) {
  const auto logits = at::tensor({1.0, 2.0, 0.5, 0.0, 0.0, 0.0}).reshape({2, 3});
  const auto labels = at::tensor({1, 2}, at::kLong);
  const auto log_p = at::log_softmax(logits, 1);
  const double expected = -(log_p[0][1] + log_p[1][2]).item<double>() / 2;
  EXPECT_NEAR(classification_loss(logits, labels).item<double>(), expected, 1e-12);
}

TEST(ClassificationLoss, SmoothingSpreadsTheTarget) {
  const auto logits = at::tensor({1.0, 2.0, 0.5, 0.0, 3.0, 0.0}).reshape({2, 3});
  const auto labels = at::tensor({1, 2}, at::kLong);
  const auto log_p = at::log_softmax(logits, 1);
  const auto target = at::one_hot(labels, 3).to(at::kDouble) * 0.9 + 0.1 / 3;
  const double expected = -(target * log_p).sum(1).mean().item<double>();
  EXPECT_NEAR(classification_loss(logits, labels, 0.1).item<double>(), expected, 1e-12);
}

TEST(CountTop, CountsLabelsAmongTheLargest) {
  const auto logits = at::tensor({0.1, 0.9, 0.5, 0.2, 0.3, 0.4, 0.9, 0.1, 0.2, 0.3, 0.4, 0.5}).reshape({2, 6});
  const auto labels = at::tensor({1, 1}, at::kLong);
  EXPECT_EQ(count_top(logits, labels, 1), 1);
  EXPECT_EQ(count_top(logits, labels, 5), 1);
  EXPECT_EQ(count_top(logits, labels, 6), 2);
}

TEST(CountTop, TakesFewerClasses) { EXPECT_EQ(count_top(at::randn({7, 3}), at::zeros({7}, at::kLong), 5), 7); }

TEST(ToTensors, KeepsPixelsInPlaceAsChannelsLast) {
  Batch batch{
      .number = 0, .size = 2, .channels = 3, .height = 1, .width = 2, .pixels = {}, .labels = {4, 5}, .indices = {}};
  for (int i = 0; i < 12; ++i) batch.pixels.push_back(static_cast<float>(i));
  const float* memory = batch.pixels.data();
  const auto [images, labels] = to_tensors(std::move(batch));
  EXPECT_EQ(images.data_ptr<float>(), memory);
  EXPECT_EQ(images.sizes(), (std::vector<int64_t>{2, 3, 1, 2}));
  EXPECT_TRUE(images.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(images[1][2][0][1].item<float>(), 11);  // image 1, channel 2, column 1
  EXPECT_EQ(images[0][1][0][1].item<float>(), 4);
  EXPECT_TRUE(labels.equal(at::tensor({4, 5}, at::kLong)));
}

TEST(Evaluate, AgreesWithOneLargeBatch) {
  const auto network = toy::network();
  const auto data = toy::dataset(31);
  const auto small = evaluate(*network, *toy::loader(data, 7, false));
  const auto large = evaluate(*network, *toy::loader(data, 31, false));
  EXPECT_EQ(small.images, 31);
  EXPECT_NEAR(small.loss, large.loss, 1e-5);
  EXPECT_EQ(small.top1, large.top1);
  EXPECT_EQ(small.top5, 100);
}

TEST(Evaluate, ChangesNothingAndIsDeterministic) {
  const auto network = toy::network();
  network->train();
  const auto before = copy_of(weights_of(*network));
  const auto loader = toy::loader(toy::dataset(20), 8, false);
  const auto first = evaluate(*network, *loader), second = evaluate(*network, *loader);
  EXPECT_EQ(first.to_json(), second.to_json());
  EXPECT_TRUE(network->is_training());
  const auto after = weights_of(*network);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(after[i].second.equal(before[i].second)) << after[i].first;
  network->eval();
  evaluate(*network, *loader);
  EXPECT_FALSE(network->is_training());
}

}  // namespace
}  // namespace nascent
