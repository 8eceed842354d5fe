#include "nascent/train/judgement.h"

#include <gtest/gtest.h>

#include <numeric>

#include "nascent/run/thumbnail.h"
#include "train/toy.h"

namespace nascent {
namespace {

TEST(Judgement, AgreesWithEvaluateAndWithItself) {
  const auto network = toy::network();
  const auto loader = toy::loader(toy::dataset(31, 1), 16, false);
  const Evaluation plain = evaluate(*network, *loader);
  const Judgement judgement = judge(*network, *loader, 3, 5);
  EXPECT_EQ(judgement.scores.to_json(), plain.to_json());
  int64_t all = 0, right = 0;
  for (int label = 0; label < 3; ++label) {
    const auto& row = judgement.confusion[label];
    all += std::accumulate(row.begin(), row.end(), int64_t{0});
    right += row[label];
  }
  EXPECT_EQ(all, 31);
  EXPECT_NEAR(100.0 * right / all, plain.top1, 1e-9);
  EXPECT_EQ(judgement.worst.size(), std::min<size_t>(5, all - right));
  for (size_t i = 0; i < judgement.worst.size(); ++i) {
    EXPECT_NE(judgement.worst[i].label, judgement.worst[i].predicted);
    if (i > 0) {
      EXPECT_LE(judgement.worst[i].probability, judgement.worst[i - 1].probability);
    }
  }
  EXPECT_GE(judgement.calibration_error, 0);
  EXPECT_LE(judgement.calibration_error, 100);
}

// One image class at chance: a network whose logits are all equal predicts with probability 1/3, in one bin, so its
// calibration error is the distance of its accuracy from a third.
TEST(Judgement, CalibrationErrorOfAnUnsureNetwork) {
  const auto network = toy::network();
  {
    at::NoGradGuard no_grad;
    for (auto& parameter : network->parameters()) parameter.zero_();
  }
  const auto loader = toy::loader(toy::dataset(31, 1), 16, false);
  const Judgement judgement = judge(*network, *loader, 3, 0);
  double right = 0;  // of equal logits each way of counting may take another for the largest
  for (int label = 0; label < 3; ++label) right += static_cast<double>(judgement.confusion[label][label]);
  EXPECT_NEAR(judgement.calibration_error, std::abs(100 * right / 31 - 100.0 / 3), 1e-6);
}

// Every mistake has its own picture: that of the image that the data set holds under its index.
TEST(Judgement, MistakesHaveTheirPictures) {
  const auto network = toy::network();
  const auto images = toy::dataset(31, 1);
  const auto loader = toy::loader(images, 16, false);
  Json judgement = judge(*network, *loader, 3, 4).to_json({"a", "b", "c"});
  add_pictures(judgement, *images);
  ASSERT_FALSE(judgement.at("worst").empty());
  for (const Json& mistake : judgement.at("worst")) {
    Image image;
    images->read(mistake.at("image").get<int64_t>(), image);
    EXPECT_EQ(mistake.at("picture"), thumbnail(image));
    EXPECT_EQ(mistake.at("label"), std::string(1, static_cast<char>('a' + images->label(mistake.at("image")))));
  }
}

}  // namespace
}  // namespace nascent
