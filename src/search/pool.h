// The architectures that a method chooses from by their training-free metrics: those of a file, a sample of the space,
// or all of it.
//
//   Pool pool(problem, "trace");
//   pool.file(run_folder);        // the metrics as a CSV file, computed where they are not given
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/score/scorer.h"
#include "nascent/search/problem.h"

namespace nascent {

class Pool {
 public:
  // An Error where the options name no pool, or no such metric is known. The condition number is computed with the
  // metric: the objectives that go by a pool want both.
  Pool(const Problem& problem, std::string metric);

  // The file of the metrics; written to metrics.csv in `folder` where they are computed.
  std::string file(const std::filesystem::path& folder) const;
  // The best by the metric alone, without the condition number.
  Genotype best() const;

 private:
  ScorerSetup setup() const;
  Architectures architectures() const;

  const Problem& problem_;
  std::string metric_;
};

}  // namespace nascent
