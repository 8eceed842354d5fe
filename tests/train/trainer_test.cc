#include "nascent/train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Trainer, LearnsASeparableSet) {
  const auto trainer = toy::trainer(toy::options(12));
  toy::Recorder events;
  run_job(*trainer, {.events = &events});
  EXPECT_GT(trainer->best().top1, 90);
  EXPECT_GE(trainer->best().top1, trainer->last().top1);
  const auto epochs = events.of("epoch");
  ASSERT_EQ(epochs.size(), 12);
  EXPECT_LT(epochs.back().values.at("train_loss"), epochs.front().values.at("train_loss"));
  for (const char* name : {"train_top1", "valid_loss", "valid_top1", "valid_top5", "lr", "seconds"}) {
    EXPECT_TRUE(epochs.back().values.contains(name)) << name;
  }
  EXPECT_EQ(epochs[2].step, 12);
}

TEST(Trainer, EmitsStepsAtTheScheduledRate) {
  const auto options = toy::options(5);
  const auto trainer = toy::trainer(options);
  toy::Recorder events;
  run_job(*trainer, {.events = &events});
  const auto steps = events.of("step");
  ASSERT_EQ(steps.size(), 2);  // 20 steps
  EXPECT_EQ(steps[0].step, 10);
  EXPECT_EQ(steps[0].epoch, 2);
  EXPECT_DOUBLE_EQ(steps[0].values.at("lr"), learning_rate(options.schedule, options.optimizer.lr, 2.25, 5));
  for (const char* name : {"loss", "grad_norm", "top1"}) EXPECT_TRUE(steps[0].values.contains(name)) << name;
}

TEST(Trainer, DropPathRisesFromZeroToItsFinalProbability) {
  const auto trainer = toy::trainer(toy::options(3));
  toy::Recorder events;
  run_job(*trainer, {.events = &events});
  const auto epochs = events.of("epoch");
  EXPECT_DOUBLE_EQ(epochs[0].values.at("drop_path"), 0);
  EXPECT_DOUBLE_EQ(epochs[1].values.at("drop_path"), 0.1);
  EXPECT_DOUBLE_EQ(epochs[2].values.at("drop_path"), 0.2);
}

TEST(Trainer, RestoresTheBestWeightsAndTheLast) {
  auto options = toy::options(6);
  options.optimizer.lr = 0.4;  // restless, so that the best epoch is not the last
  for (const double ema : {0.0, 0.8}) {
    options.ema = ema;
    const auto trainer = toy::trainer(options);
    run_job(*trainer, {});
    const auto valid = toy::loader(toy::dataset(31, 1), 16, false);
    for (int i = 0; i < 2; ++i) {
      trainer->restore_best();
      EXPECT_EQ(evaluate(*trainer->network(), *valid).to_json(), trainer->best().to_json());
      trainer->restore_last();
      EXPECT_EQ(evaluate(*trainer->network(), *valid).to_json(), trainer->last().to_json());
    }
  }
}

TEST(Trainer, WithoutValidationTheBestIsTheLast) {
  const auto trainer = toy::trainer(toy::options(2), /*valid=*/false);
  toy::Recorder events;
  run_job(*trainer, {.events = &events});
  EXPECT_EQ(trainer->best_epoch(), 1);
  EXPECT_FALSE(events.of("epoch").back().values.contains("valid_top1"));
  const auto last = copy_of(weights_of(*trainer->network()));
  trainer->restore_best();
  const auto best = weights_of(*trainer->network());
  for (size_t i = 0; i < best.size(); ++i) EXPECT_TRUE(best[i].second.equal(last[i].second)) << best[i].first;
}

TEST(Trainer, AddsTheAuxiliaryLoss) {
  NetworkOptions network_options;
  network_options.channels = 4;
  network_options.cells = 3;
  network_options.auxiliary = true;
  const auto plan = plan_network(*find_space("darts"), find_genotype("darts-v2"), network_options, {3, 32, 32}, 4);
  MemoryDataset::Contents contents{"aux", {3, 32, 32}, {}, {0, 1, 2, 3}, {"a", "b", "c", "d"}, {}};
  RandomStream random(1, "aux");
  for (int i = 0; i < 4 * 3 * 32 * 32; ++i) contents.pixels.push_back(static_cast<uint8_t>(random.below(256)));
  const auto data = std::make_shared<MemoryDataset>(std::move(contents));
  const auto loader = [&] {
    const TransformPipeline pipeline({}, {{0.5, 0.5, 0.5}, {0.2, 0.2, 0.2}}, data->shape());
    return std::make_unique<Loader>(data, std::vector<int64_t>{0, 1, 2, 3}, pipeline, LoaderOptions{.batch = 4});
  };
  const auto twin = std::make_shared<Network>(plan, 1);
  const auto twins_loader = loader();
  twins_loader->start(0);
  const auto batch = to_tensors(*twins_loader->next());
  const auto output = twin->forward(batch.images);
  ASSERT_TRUE(output.auxiliary.defined());
  const auto expected = classification_loss(output.logits, batch.labels, 0.1) +
                        0.3 * classification_loss(output.auxiliary, batch.labels, 0.1);

  auto options = toy::options(1);
  options.auxiliary_weight = 0.3;
  options.label_smoothing = 0.1;
  Trainer trainer(std::make_shared<Network>(plan, 1), loader(), nullptr, options, 0, 1);
  toy::Recorder events;
  trainer.start_epoch(0, 0, events);
  EXPECT_NEAR(trainer.step(0, 0, events).loss, expected.item<double>(), 1e-5);
}

TEST(Trainer, TooLittleDataForOneBatchIsAnError) {
  EXPECT_THAT([] { Trainer(toy::network(), toy::loader(toy::dataset(5), 12, true), nullptr, toy::options(1), 0, 1); },
              ThrowsMessage<Error>(HasSubstr("fewer than one batch of 12")));
}

TEST(Trainer, ANonFiniteLossNamesTheImagesAndLeavesTheCheckpoint) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  const auto trainer = toy::trainer(toy::options(3));
  EXPECT_THROW(run_job(*trainer, {.checkpoints = &store, .stop_after_steps = 5}), Interrupted);
  State broken = *store.newest();
  for (const auto& [name, tensor] : broken.tensors()) {
    if (name.starts_with("job.network.") && tensor.is_floating_point()) at::Tensor(tensor).fill_(NAN);
  }
  store.write(5, broken);
  const auto second = toy::trainer(toy::options(3));
  EXPECT_THAT([&] { run_job(*second, {.checkpoints = &store, .resume = true}); },
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("the loss is nan at epoch 2, step 2"),
                                                  HasSubstr("batch 1: images "), HasSubstr("checkpoint-5.nascent"))));
}

TEST(TrainOptions, AreDeclaredOnce) {
  OptionTable table;
  TrainOptions options;
  options.declare(table);
  table.read_toml(
      "[train]\nepochs = 3\noptimizer = 'adam'\nschedule = 'step'\nwarmup-epochs = 1\nema = 0.99\nlr = 0.1\n"
      "label-smoothing = 0.1\nauxiliary-weight = 0.2\nclip = 0\n",
      "test");
  EXPECT_EQ(options.epochs, 3);
  EXPECT_EQ(options.optimizer.optimizer, "adam");
  EXPECT_EQ(options.schedule.schedule, "step");
  EXPECT_EQ(options.ema, 0.99);
  EXPECT_THROW(table.read_assignment("train.epochs=0"), Error);
  EXPECT_THROW(table.read_assignment("train.ema=1"), Error);
}

}  // namespace
}  // namespace nascent
