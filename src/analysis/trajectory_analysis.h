// The way that a training took, on its two principal directions, as one run: what `nascent analyze trajectory` does.
#pragma once

#include "nascent/analysis/trajectory.h"
#include "nascent/data/data_options.h"
#include "nascent/train/model.h"
#include "nascent/train/session.h"

namespace nascent {

struct TrajectoryAnalysisOptions {
  std::vector<std::string> models{};  // a training that kept snapshots, or models in the order of training
  TrajectoryOptions trajectory{};
  DataOptions data = unknown_data();  // without a name: what the first model was trained on
  RunOptions run{};

  void declare(OptionTable& table);
  void resolve();
};

// Leaves tables, pictures, result.json and the report in the session's folder; returns the result.
Json analyse_trajectory(const TrajectoryAnalysisOptions& options, Session& session);
// The same for people, a line per model.
std::vector<std::string> describe_trajectory(const Json& result);

}  // namespace nascent
