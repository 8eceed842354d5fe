#include "nascent/train/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nascent/core/error.h"
#include "nascent/train/model.h"
#include "nascent/train/model_evaluation.h"
#include "train/toy.h"

namespace nascent {
namespace {

class TrainingTest : public testing::Test {
 protected:
  TrainingTest() {
    options_.declare(table_);
    options_.genotype = "nasbench201:4321";
    options_.train.epochs = 1;
    options_.network.channels = 4;
    options_.network.cells = 1;
    options_.data.name = "random";
    options_.data.size = 32;
    options_.data.shape = {3, 8, 8};
    options_.data.classes = 3;
    options_.data.batch = 8;
    options_.run.threads = 1;
    options_.run.out = (folder_.path() / "run").string();
  }
  TrainingResult train_it() {
    options_.resolve();
    Session session({.verb = "train"}, table_, options_.run);
    return train(options_, session);
  }

  toy::Folder folder_;
  TrainingOptions options_;
  OptionTable table_;
};

TEST_F(TrainingTest, LeavesAModelThatScoresAsItSaid) {
  const TrainingResult result = train_it();
  EXPECT_FALSE(result.best.has_value());
  EXPECT_EQ(result.to_json(), RunDirectory::view(result.directory).result());
  EXPECT_EQ(load_model(result.model).genotype, find_genotype("nasbench201:4321"));
  EvaluationOptions evaluation{.model = result.model.string(), .data = options_.data, .threads = 1};
  EXPECT_EQ(evaluate(evaluation).images, 32);
  evaluation.data.classes = 4;
  EXPECT_THROW(evaluate(evaluation), Error);
}

TEST_F(TrainingTest, HeldOutImagesChooseTheBestWeights) {
  options_.data.valid_fraction = 0.25;
  options_.train.epochs = 2;
  const TrainingResult result = train_it();
  ASSERT_TRUE(result.best.has_value());
  EXPECT_GE(result.best->epoch, 1);
  EXPECT_TRUE(std::filesystem::exists(result.directory / "best.nascent"));
}

TEST_F(TrainingTest, WhatIsRefusedLeavesNothingBehind) {
  options_.genotype = "";
  EXPECT_THROW(train_it(), Error);
  options_.genotype = "nasbench201:4321";
  options_.data.batch = 4096;
  options_.run.memory = 1e-6;
  EXPECT_THROW(train_it(), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run"));
}

}  // namespace
}  // namespace nascent
