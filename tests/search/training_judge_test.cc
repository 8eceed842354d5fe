#include "nascent/search/training_judge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "score/samples.h"

namespace nascent {
namespace {

class TrainingJudgeTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static DataOptions data_options(double held_out) {
    DataOptions options;
    options.name = "random";
    options.shape = {3, 8, 8};
    options.classes = 3;
    options.size = 60;
    options.batch = 6;
    options.valid_fraction = held_out;
    return options;
  }

  TrainingJudgeSetup setup(double lr = 0.1) const {
    TrainingJudgeSetup setup{.space = space_, .data = data_options(0.5), .images = images_};
    setup.network.channels = 3;
    setup.network.cells = 1;
    setup.train.optimizer.lr = lr;
    setup.seed = 5;
    return setup;
  }

  const std::shared_ptr<const Space> space_ = find_space("nasbench201");
  const ImageData images_{data_options(0.5), 5};
  const Genotype genotype_ = find_genotype("nasbench201:4321");
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("nascent-validations-{}", ::getpid());
};

TEST_F(TrainingJudgeTest, IsTheAccuracyOfATrainingOnHeldOutImages) {
  const Judgement found = TrainingJudge(setup(), "").judge(genotype_, Budget(2));
  NetworkOptions size;
  size.channels = 3;
  size.cells = 1;
  const auto network = std::make_shared<Network>(
      plan_network(*space_, genotype_, size, images_.shape(), images_.classes()), uint64_t{5});
  TrainOptions options;
  options.epochs = 2;
  options.optimizer.lr = 0.1;
  Trainer trainer(network, images_.training(images_.split().train, "train"), images_.evaluation(images_.split().valid),
                  options, 0, 5);
  run_job(trainer, {});
  trainer.restore_last();
  EXPECT_EQ(found.accuracy, evaluate(*network, *images_.evaluation(images_.split().valid)).top1);
  EXPECT_GT(found.seconds, 0);
}

TEST_F(TrainingJudgeTest, WhatIsKnownIsNotTrainedAgain) {
  const Judgement first = TrainingJudge(setup(), folder_).judge(genotype_, Budget(1));
  const Judgement again = TrainingJudge(setup(), folder_).judge(genotype_, Budget(1));
  EXPECT_EQ(again.accuracy, first.accuracy);
  EXPECT_EQ(again.seconds, first.seconds);  // as it was measured, not how long the lookup took
  // Another budget or setting is another question.
  EXPECT_NE(TrainingJudge(setup(), folder_).judge(genotype_, Budget(2)).seconds, first.seconds);
  EXPECT_NE(TrainingJudge(setup(0.2), folder_).judge(genotype_, Budget(1)).seconds, first.seconds);
}

// Another rank was done with it before its turn, and the run was killed.
TEST_F(TrainingJudgeTest, WhatIsKeptAheadIsRememberedInItsTurn) {
  const Judgement found{.accuracy = 61, .seconds = 7};
  TrainingJudge(setup(), folder_).keep_ahead(genotype_, Budget(3), found);
  {
    TrainingJudge judge(setup(), folder_);
    EXPECT_FALSE(judge.recall(genotype_, Budget(1)));
    EXPECT_EQ(judge.judge(genotype_, Budget(3)).seconds, 7);
    judge.remember(genotype_, Budget(3), {.accuracy = 62, .seconds = 8});
  }
  EXPECT_EQ(TrainingJudge(setup(), folder_).judge(genotype_, Budget(3)).accuracy, 61);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_NE(entry.path().extension(), ".ahead") << "all had their turn";
  }
}

TEST_F(TrainingJudgeTest, ACellThatLetsNothingThroughCanBeTrained) {
  EXPECT_NO_THROW(TrainingJudge(setup(), "").judge(find_genotype("nasbench201:0"), Budget(1)));
}

TEST_F(TrainingJudgeTest, NeedsHeldOutImages) {
  const ImageData all(data_options(0), 5);
  TrainingJudgeSetup without{.space = space_, .data = data_options(0), .images = all};
  EXPECT_THROW(TrainingJudge(without, ""), Error);
}

}  // namespace
}  // namespace nascent
