// The loss on the straight line between two trained models as one run: what `nascent analyze line` does.
#pragma once

#include "nascent/analysis/line.h"
#include "nascent/data/data_options.h"
#include "nascent/train/model.h"
#include "nascent/train/session.h"

namespace nascent {

struct LineAnalysisOptions {
  std::vector<std::string> models{};  // two files or run folders
  LineOptions line{};
  DataOptions data = unknown_data();  // without a name: what the first model was trained on
  RunOptions run{};

  void declare(OptionTable& table);
  void resolve();
};

// Leaves table, picture, result.json and the report in the session's folder; returns the result.
Json analyse_line(const LineAnalysisOptions& options, Session& session);
// The same for people, a line per way to treat the norms.
std::vector<std::string> describe_line(const Json& result);

}  // namespace nascent
