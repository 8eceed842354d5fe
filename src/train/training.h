// Training of the network of a genotype, from options to the saved model.
//
//   TrainingOptions options;
//   options.genotype = "darts-v2";
//   const TrainingResult result = train(options, session);   // result.test.top1, result.model
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nascent/core/scale.h"
#include "nascent/data/data_options.h"
#include "nascent/train/session.h"
#include "nascent/train/trainer.h"

namespace nascent {

struct TrainingOptions {
  std::string genotype{};  // as find_genotype() takes it, or the folder of a search
  std::string space{};     // "": the one that the genotype names
  std::string initialiser = "torch";
  int64_t data_seed = -1;  // chooses the images where not all are used, and those held out; -1: run.seed
  int snapshots = 0;       // every so many epochs the weights are kept, and those of the start; 0: never
  TrainOptions train{};
  NetworkOptions network{};
  DataOptions data{};
  RunOptions run{};

  TrainingOptions() { data.valid_fraction = 0; }
  uint64_t images_seed() const { return static_cast<uint64_t>(data_seed < 0 ? run.seed : data_seed); }
  void declare(OptionTable& table);  // sections "train", "network", "data", "run"
  // Puts what is used in the place of what was left open, so that what is kept with the run is what it ran with.
  void resolve(const std::string& resume = "");
  ScaleLimits scale_limits() const;
};

struct TrainingResult {
  struct Best {
    int64_t epoch = 0;  // from 1
    double valid_top1 = 0, test_top1 = 0;
  };

  int64_t parameters = 0, multiply_adds = 0;
  Evaluation test{};           // of the last weights
  std::optional<Best> best{};  // of the weights with the best validation accuracy, where images were held out
  std::filesystem::path directory{}, model{}, report{};

  Json to_json() const;  // what result.json holds
};

// Begins the session and concludes it. The model of the last weights is model.nascent, that of the best best.nascent;
// snapshots are snapshots/epoch-0000.nascent and so on.
TrainingResult train(const TrainingOptions& options, Session& session);

}  // namespace nascent
