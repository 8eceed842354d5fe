// Training of an ensemble's members, each a run within this one, and what they come to together.
#pragma once

#include <filesystem>

#include "nascent/ensemble/ensemble_model.h"
#include "nascent/ensemble/ensemble_search.h"
#include "nascent/train/training.h"

namespace nascent {

struct EnsembleTrainingOptions {
  std::string ensemble{};      // folder of the search that found it
  int at_once = 1;             // members that are trained side by side, each with one thread where there are several
  TrainingOptions training{};  // of every member; the seed counts up from member to member, their images are the same

  void declare(OptionTable& table);
  void resolve(const std::string& resume = "");
  ScaleLimits scale_limits() const { return training.scale_limits(); }
};

struct EnsembleTrainingResult {
  Json facts = Json::object();  // what result.json holds
  std::filesystem::path directory{}, model{}, report{};
};

// Begins the session and concludes it; leaves ensemble.nascent.
EnsembleTrainingResult train_ensemble(const EnsembleTrainingOptions& options, Session& session);

// One training with the schedule "cyclic" that leaves a model per cycle: snapshot-1.nascent, ...
void train_snapshots(const TrainingOptions& options, Session& session);

}  // namespace nascent
