// How much the gradients of single images differ, at trained models and around them, as one run: what `nascent analyze
// variance` does.
#pragma once

#include "nascent/analysis/landscape.h"
#include "nascent/data/data_options.h"
#include "nascent/train/model.h"
#include "nascent/train/session.h"

namespace nascent {

struct VarianceAnalysisOptions {
  std::vector<std::string> models{};  // files or run folders
  LandscapeOptions grid{};
  bool vtk = false;
  DataOptions data = unknown_data();  // without a name: what the first model was trained on
  RunOptions run{};

  VarianceAnalysisOptions();  // a coarse grid: every point costs gradients
  void declare(OptionTable& table);
  void resolve();
};

// Leaves tables, pictures, result.json and the report in the session's folder; returns the result.
Json analyse_variance(const VarianceAnalysisOptions& options, Session& session);
// The same for people, a line per model.
std::vector<std::string> describe_variance(const Json& result);

}  // namespace nascent
