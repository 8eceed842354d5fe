// A weight-sharing search: the axes (relaxation, update, gradient, objective, regularisers, discretisation) put
// together as a Job.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nascent/data/loader.h"
#include "nascent/nn/network.h"
#include "nascent/search/discretisation.h"
#include "nascent/search/one_shot/gradient.h"
#include "nascent/search/one_shot/objective.h"
#include "nascent/search/one_shot/regulariser.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/search/one_shot/update.h"
#include "nascent/train/loop.h"
#include "nascent/train/optimizer.h"
#include "nascent/train/predictions.h"
#include "nascent/train/schedule.h"
#include "nascent/train/shared_job.h"

namespace nascent {

struct OneShotOptions {
  int epochs = 50;
  int freeze_epochs = 0;  // the architecture rests for so many epochs at the start
  std::string objective = "bilevel";
  std::string blocks = "both";  // single level: what a step moves (ObjectiveSetup::blocks)
  std::string discretisation = "strongest";
  int samples = 100;              // best-sample: architectures that are compared
  int judge_images = 0;           // images that score the supernet before and after discretisation; 0: none
  double auxiliary_weight = 0.4;  // of the loss of the supernet's auxiliary head, where it has one
  double drop_path = 0;           // at the end of the search; the caller takes it from NetworkOptions
  int shards = 1;                 // that a batch is cut into (train/shards.h)
  std::vector<std::string> regularisers;
  RelaxationOptions relaxation;
  GradientOptions gradient;
  UpdateOptions update;
  OptimizerOptions weights;
  ScheduleOptions schedule;

  OneShotOptions();
  void declare(OptionTable& table);  // sections "search", "architecture", "weights"
};

// Parts of the data that a search may ask for. A single-level search holds out as little as the split says, most often
// nothing; a bilevel one must.
enum class SearchData {
  train,        // shuffled and augmented: what the weights learn from
  train_again,  // the same in another order
  held_out,     // shuffled and augmented: what judges the architecture
  judge,        // the held-out side as it is, in order, to judge by; null where nothing is held out
  judge_train   // the same of the training side
};
using LoaderMaker = std::function<std::unique_ptr<Loader>(SearchData)>;

// True where a step takes second derivatives, which the kernels do not have.
bool needs_plain_operations(const OneShotOptions& options);

class OneShotSearch : public SharedJob {
 public:
  // The objective decides which data is asked of `loaders`.
  OneShotSearch(std::shared_ptr<const Space> space, std::shared_ptr<Network> supernet, const LoaderMaker& loaders,
                const OneShotOptions& options, uint64_t seed);
  ~OneShotSearch() override;

  // "128 images train weights and architecture", for people to read.
  std::string describe_data();
  // What the search has found so far, by its discretisation.
  Genotype genotype();
  // The same by the strongest probabilities: what the search leans to at present, without any evaluation. Where nothing
  // is learnt, one of the architectures that are drawn.
  Genotype leaning() const;
  Mixture probabilities() const { return relaxation_->probabilities(here_); }
  // What has collapsed (search/collapse.h) in the cells that the search leans to; "" for nothing, and while the
  // architecture has not begun to learn.
  std::string collapse() const;
  // Accuracy (percent) with shared weights, of the mixture and of an architecture: on held-out images, or where nothing
  // is held out on images of the training side. Batch norms go by the statistics of each batch, because running ones,
  // gathered under the mixture, do not fit a single architecture.
  double mixture_accuracy(NormStatistics norms = NormStatistics::batch);
  double shared_accuracy(const Genotype& genotype, NormStatistics norms = NormStatistics::batch);

  void join(cluster::Team& team) override;
  std::string label() const override { return "search"; }
  int64_t epochs() const override { return options_.epochs; }
  int64_t steps() const override { return train_->batches(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override;
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t epoch, EventSink& events) override;
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

 private:
  // Means over the steps of an epoch; part of the state, so a resumed epoch reports the same numbers.
  struct EpochSums {
    int64_t steps = 0;
    double train_loss = 0, train_top1 = 0, valid_loss = 0, valid_top1 = 0;
    int64_t valid_steps = 0;
    double second_ratio = 0;
    void add(const SearchStepResult& result, bool judged);
  };

  // The loader of the images that accuracies are measured on.
  Loader& judge();
  // "" where those are held out, "train_" where they are not: part of the names of such accuracies.
  std::string judged_on();
  void report_collapse(int64_t epoch, EventSink& events);
  SearchPlace place(int64_t epoch, int64_t step) const;
  double accuracy(const Mixture& mixture, NormStatistics norms);
  TensorBatch next_second(int64_t epoch, int64_t step);
  double weights_lr(int64_t epoch, int64_t step) const;
  bool holds_out() const;

  std::shared_ptr<const Space> space_;
  std::shared_ptr<Network> supernet_;
  std::unique_ptr<Loader> train_, second_;  // second_: of the architecture's own batches; null where it has none
  LoaderMaker loaders_;
  std::unique_ptr<Loader> judge_;  // made when first asked for
  bool judges_training_ = false;
  OneShotOptions options_;
  uint64_t seed_;
  std::unique_ptr<Relaxation> relaxation_;
  std::unique_ptr<OneShotLoss> problem_;
  std::unique_ptr<ArchitectureUpdate> update_;
  std::unique_ptr<ArchitectureGradient> gradient_;
  std::unique_ptr<Optimizer> weights_;
  std::unique_ptr<Objective> objective_;
  EpochSums sums_;
  std::string collapse_;  // what was said last
  SearchPlace here_;      // after the last step
};

}  // namespace nascent
