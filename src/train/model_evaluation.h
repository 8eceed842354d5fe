// Scores of a trained model on the images of a data set: its own, unless another is named.
//
//   const Evaluation scores = evaluate({.model = "runs/train-1"});
#pragma once

#include <string>
#include <vector>

#include "nascent/data/data_options.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/judgement.h"
#include "nascent/train/model_data.h"

namespace nascent {

struct EvaluationOptions {
  std::string model{};                // file of a trained network, or the folder of its run
  std::string part = "test";          // or "train"
  bool details = false;               // keep the worst mistakes
  bool pictures = false;              // and their pictures
  DataOptions data = unknown_data();  // without a name: the model's own
  int threads = 0;                    // 0: one per core
  std::string precision = "float";    // or "bf16"

  void declare(OptionTable& table);  // sections "eval", "data", "run"; the model is named by the caller
  void apply() const;                // sets the number of threads and the precision
};

// What was scored, and how it went.
struct ModelJudgement {
  DataOptions data;
  std::vector<std::string> class_names;
  Judgement judgement;
  Json details = {};  // as judgement_section() shows it, with pictures where they were asked for
};

// An Error where the images or classes are not those that the model takes.
ModelJudgement judge(const EvaluationOptions& options);
Evaluation evaluate(const EvaluationOptions& options);

}  // namespace nascent
