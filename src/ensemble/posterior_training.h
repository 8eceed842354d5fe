// Training of the posterior over architectures (thesis, 5.4): mean cross-entropy on held-out images of one drawn
// architecture a step, plus (kl-weight / |D|) times the divergence from the uniform prior. Shared weights rest.
#pragma once

#include <filesystem>
#include <memory>

#include "nascent/ensemble/supernet.h"
#include "nascent/train/loop.h"
#include "nascent/train/optimizer.h"
#include "nascent/train/predictions.h"
#include "nascent/train/session.h"

namespace nascent {

struct PosteriorOptions {
  std::string supernet{};  // folder of the search that trained it
  int epochs = 20;
  double tau = 1;                 // softmax temperature of (5.6)
  double gumbel_temperature = 1;  // of the straight-through draws
  double kl_weight = 1;           // 1: the ELBO
  OptimizerOptions optimizer{};
  RunOptions run{};

  PosteriorOptions();
  // Those of a part of an ensemble search: without "supernet" and "run".
  void declare_training(OptionTable& table);
  void declare(OptionTable& table);
  void resolve(const std::string& resume = "");
};

class PosteriorTraining : public Job {
 public:
  // Both outlive it; running statistics of the supernet come back when it goes.
  PosteriorTraining(ArchitecturePosterior& posterior, const Supernet& supernet, const PosteriorOptions& options,
                    uint64_t seed);

  std::string label() const override { return "posterior"; }
  int64_t epochs() const override { return options_.epochs; }
  int64_t steps() const override { return loader_->batches(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override;
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t epoch, EventSink& events) override;
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

 private:
  ArchitecturePosterior& posterior_;
  const Supernet& supernet_;
  PosteriorOptions options_;
  uint64_t seed_;
  NetworkStateGuard keep_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Optimizer> optimizer_;
  double images_ = 0;                 // |D|
  double loss_ = 0, divergence_ = 0;  // sums of the epoch
};

// Trains it in a run of its own, which leaves posterior.nascent.
void train_posterior(const PosteriorOptions& options, Session& session);
// Reads what such a run, or a search with the relaxation 'posterior', has learnt.
void load_posterior(const std::filesystem::path& folder, ArchitecturePosterior& posterior);

}  // namespace nascent
