#include "nascent/train/predictions.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/train/evaluate.h"
#include "train/toy.h"

namespace nascent {
namespace {

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.clone());
  return result;
}

void expect_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i]));
}

TEST(Predictions, ScoreAsEvaluationDoes) {
  const auto network = toy::network();
  const auto data = toy::dataset(31);
  const auto found = predict(*network, *toy::loader(data, 7, false));
  EXPECT_EQ(found.probabilities.images, 31);
  EXPECT_EQ(found.probabilities.classes, 3);
  EXPECT_DOUBLE_EQ(top1(found), evaluate(*network, *toy::loader(data, 31, false)).top1);
  for (int64_t i = 0; i < 31; ++i) {
    const auto row = found.probabilities.row(i);
    EXPECT_NEAR(row[0] + row[1] + row[2], 1, 1e-6);
    EXPECT_EQ(found.labels[static_cast<size_t>(i)], i % 3);
  }
}

TEST(Predictions, LeaveTheNetworkAsItWas) {
  const auto network = toy::network();
  const auto data = toy::dataset(48);
  network->train();
  const auto before = copies_of(network->buffers());
  const auto calibration = toy::loader(data, 12, true);
  for (const auto norms : {NormStatistics::batch, NormStatistics::running, NormStatistics::recalibrated}) {
    predict(*network, *toy::loader(data, 12, false), {.norms = norms, .recalibration = calibration.get()});
    expect_equal(network->buffers(), before);
    EXPECT_TRUE(network->is_training());
  }
}

// One batch that is all of the data: its own statistics and those gathered from it are the same, but for the variance,
// whose running form divides by n - 1.
TEST(Predictions, RecalibratedNormsAreThoseOfTheImages) {
  const auto network = toy::network();
  const auto data = toy::dataset(48);
  const auto loader = toy::loader(data, 48, false);
  const auto batch = predict(*network, *loader, {.norms = NormStatistics::batch});
  const auto recalibrated =
      predict(*network, *loader, {.norms = NormStatistics::recalibrated, .recalibration = loader.get()});
  const auto running = predict(*network, *loader);
  double close = 0, apart = 0;
  for (size_t i = 0; i < batch.probabilities.values.size(); ++i) {
    close = std::max<double>(close, std::abs(batch.probabilities.values[i] - recalibrated.probabilities.values[i]));
    apart = std::max<double>(apart, std::abs(batch.probabilities.values[i] - running.probabilities.values[i]));
  }
  EXPECT_LT(close, 0.01);
  EXPECT_GT(apart, 5 * close);
}

TEST(Predictions, StopAtEnoughImages) {
  const auto network = toy::network();
  const auto first = predict(*network, *toy::loader(toy::dataset(31), 7, false), {.images = 10});
  const auto all = predict(*network, *toy::loader(toy::dataset(31), 7, false));
  EXPECT_EQ(first.probabilities.images, 10);
  EXPECT_EQ(first.labels, Labels(all.labels.begin(), all.labels.begin() + 10));
  const auto& values = all.probabilities.values;
  const auto numbers = static_cast<std::ptrdiff_t>(10 * all.probabilities.classes);
  EXPECT_EQ(first.probabilities.values, std::vector<float>(values.begin(), values.begin() + numbers));
}

TEST(Predictions, DropPathOfZeroIsTheNetwork) {
  const auto network = toy::network();
  const auto data = toy::dataset(31);
  const auto plain = predict(*network, *toy::loader(data, 7, false));
  const auto dropped = [&](double p, uint64_t seed) {
    return predict(*network, *toy::loader(data, 7, false), {.context = {.drop_path = p, .seed = seed}})
        .probabilities.values;
  };
  EXPECT_EQ(dropped(0, 1), plain.probabilities.values);  // to the bit
  EXPECT_NE(dropped(0.5, 1), plain.probabilities.values);
  EXPECT_NE(dropped(0.5, 1), dropped(0.5, 2));
  EXPECT_EQ(dropped(0.5, 1), dropped(0.5, 1));
  // Norms go by what they have gathered, so an image's answer does not depend on the others of its batch.
  const auto one = predict(*network, *toy::loader(data, 31, false), {.context = {.drop_path = 1e-12, .seed = 1}});
  for (size_t i = 0; i < one.probabilities.values.size(); ++i)
    EXPECT_NEAR(one.probabilities.values[i], plain.probabilities.values[i], 1e-6);
}

// MC DropPath: one draw for all images of a pass, however they are cut into batches.
TEST(Predictions, PathsDroppedTogetherDoNotDependOnTheBatch) {
  const auto network = toy::network();
  const auto data = toy::dataset(31);
  const auto answers = [&](int batch, bool together, double p = 0.5) {
    return predict(*network, *toy::loader(data, batch, false),
                   {.context = {.drop_path = p, .seed = 3, .drop_together = together}})
        .probabilities.values;
  };
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max<double>(most, std::abs(a[i] - b[i]));
    return most;
  };
  const auto whole = answers(31, true);
  EXPECT_LT(distance(answers(7, true), whole), 1e-5);
  EXPECT_GT(distance(answers(7, false), answers(31, false)), 1e-3);
  EXPECT_GT(distance(whole, answers(31, true, 0)), 1e-3) << "something is dropped";
}

TEST(Predictions, ComeBackFromDisk) {
  const toy::Folder folder;
  const auto found = predict(*toy::network(), *toy::loader(toy::dataset(31), 7, false));
  save_predictions(found, folder.path() / "p.nascent");
  const auto read = load_predictions(folder.path() / "p.nascent");
  EXPECT_EQ(read.probabilities.values, found.probabilities.values);
  EXPECT_EQ(read.labels, found.labels);
  EXPECT_THROW(norm_statistics("bach"), Error);
}

}  // namespace
}  // namespace nascent
