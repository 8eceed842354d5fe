// The figures of trained ensembles: on the test part, calibrated or not, by number of members, under corruptions.
#pragma once

#include <string>
#include <vector>

#include "nascent/data/data_options.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/ensemble/figures.h"
#include "nascent/train/model_evaluation.h"
#include "nascent/train/session.h"

namespace nascent {

struct EnsembleEvaluationOptions {
  std::vector<std::string> models{};  // files or run folders: ensembles, or models that are taken together
  std::string part = "test";          // or "valid": the held-out side of the split
  std::string combine{};              // "": as the ensemble says
  std::string calibrate = "none";     // temperature from held-out images, "before" or "after" averaging
  bool curve = false;                 // error by number of members
  bool tsne = false;                  // members' predictions as points
  double perplexity = 30;
  std::vector<std::string> corruptions{};  // names; "all": every one
  DataOptions data = unknown_data();       // without a name: the members' own
  RunOptions run{};                        // "out" "": no folder

  void declare(OptionTable& table);
};

// Scores of an ensemble file as of any model.
Evaluation evaluate_whole(const EvaluationOptions& options);

// Of one ensemble.
Json evaluate_ensemble(const EnsembleModel& model, const EnsembleEvaluationOptions& options);
// Of one ensemble from its files; or of several, one per file, as trials: mean and standard error of each figure.
Json evaluate_ensembles(const EnsembleEvaluationOptions& options);
// The same in a run that keeps the numbers and their pictures. Begins the session and concludes it.
Json evaluate_ensembles(const EnsembleEvaluationOptions& options, Session& session);

}  // namespace nascent
