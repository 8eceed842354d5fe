// Training of one network: a Job for run_job().
//
//   Trainer trainer(network, std::move(train), std::move(valid), options, drop_path, seed);
//   run_job(trainer, {.checkpoints = &store, .events = &events, .resume = resume});
//   trainer.restore_best();
//   save_model({..., .network = trainer.network()}, "best.nascent");
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "nascent/data/loader.h"
#include "nascent/nn/network.h"
#include "nascent/train/average.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/loop.h"
#include "nascent/train/loss.h"
#include "nascent/train/optimizer.h"
#include "nascent/train/schedule.h"
#include "nascent/train/shared_job.h"
#include "nascent/train/weights.h"

namespace nascent {

struct TrainOptions {
  int epochs = 600;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  double label_smoothing = 0;
  double auxiliary_weight = 0.4;
  double ema = 0;  // decay of an exponential moving average of the weights that is evaluated instead; 0: off
  int shards = 1;  // that a batch is cut into (train/shards.h); an option of whole trainings only (TrainingOptions)
  void declare(OptionTable& table);  // section "train"
  // Without the epochs, where these are said elsewhere, and with flags that name the section, as in --train.lr.
  void declare_without_epochs(OptionTable& table);

 private:
  void declare_rest(OptionTable& table);
};

// Emits "step" events (loss, lr, grad_norm, top1 of a batch; every tenth step) and "epoch" events (train_loss,
// train_top1, valid_loss, valid_top1, valid_top5 or test_..., lr, drop_path, seconds in this process).
class Trainer : public SharedJob {
 public:
  // `valid` may be null: then nothing is evaluated and the best weights are the last. `drop_path` is the probability in
  // the last epoch; it rises in a line from 0 in the first. `watched` says in events whose images `valid` are: "valid",
  // or "test" where none are held out.
  Trainer(std::shared_ptr<Network> network, std::unique_ptr<Loader> train, std::unique_ptr<Loader> valid,
          TrainOptions options, double drop_path, uint64_t seed, std::string watched = "valid");
  ~Trainer() override;

  // SharedJob
  void join(cluster::Team& team) override;
  std::string label() const override { return "train"; }
  int64_t epochs() const override { return options_.epochs; }
  int64_t steps() const override { return train_->batches(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override;
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t epoch, EventSink& events) override;
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  const Evaluation& last() const { return last_; }
  const Evaluation& best() const { return best_; }
  int64_t best_epoch() const { return best_epoch_; }  // -1 before the first is over

  // The network holds the weights being trained until one of the two below, which end the training, puts others in.
  std::shared_ptr<Network> network() const { return network_; }
  void restore_last();  // the averaged weights where there is an average
  void restore_best();  // those with the best top-1 accuracy on the validation data

 private:
  // What an epoch's steps add up to.
  struct Totals {
    double loss = 0;
    int64_t correct = 0, images = 0;
  };

  double rate(int64_t epoch, int64_t step) const;
  double drop_path(int64_t epoch) const;
  at::Tensor loss(const NetworkOutput& output, const at::Tensor& labels) const;
  // What a step learns from a batch.
  struct Lesson {
    std::vector<at::Tensor> gradients;
    double loss = 0;
    int64_t correct = 0;
  };
  Lesson lesson(const TensorBatch& batch, int64_t epoch, int64_t step);
  void apply(const std::vector<at::Tensor>& gradients, double rate);
  Evaluation validate();
  void keep_if_best(int64_t epoch);
  const Weights& last_weights();

  std::shared_ptr<Network> network_;
  std::unique_ptr<Loader> train_, valid_;
  TrainOptions options_;
  double drop_path_;
  uint64_t seed_;
  std::string watched_;

  Shards shards_;

  Weights weights_;  // the network's own
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;  // null: off

  Totals totals_;
  Evaluation last_, best_;
  int64_t best_epoch_ = -1;
  Weights best_weights_;                         // empty until there are any, and without validation
  std::optional<Weights> final_;                 // the last weights, once others may have taken their place
  std::chrono::steady_clock::time_point start_;  // of the epoch, in this process: for events only, never saved
};

}  // namespace nascent
