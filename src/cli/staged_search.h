// A search in three stages (GAEA, C.1): several searches, a short training of what they found that eliminates all but
// the best, and a full training of those with several seeds.
//
// Every search and training is a run of its own, in a folder of the whole run:
//   search-1, search-2, ...   one search a seed
//   stage2-1, ...             the short training of candidate 1, ...; searches that found the same cell share one
//   stage3-1-1, ...           the full training of candidate 1 with the first seed, ...
// What is done is only read again, so the whole goes on from wherever it was stopped.
#pragma once

#include <string>
#include <vector>

#include "nascent/cli/run_session.h"
#include "nascent/cli/verb.h"
#include "nascent/space/genotype.h"

namespace nascent {

struct StageOptions {
  int seeds = 1;
  int stage2_epochs = 0;  // 0: no elimination
  int stage2_keep = 3;
  double stage2_valid_fraction = 0.1;
  int stage3_seeds = 0;   // 0: no full training
  std::string retrain{};  // recipe of the trainings; "": that of the skeleton
  std::string retrain_scale{};
  std::vector<std::string> retrain_set{};

  bool wanted() const { return seeds > 1 || stage2_epochs > 0 || stage3_seeds > 0; }
  void declare(OptionTable& table);  // section "stages"
};

// A cell that was found, and what became of it.
struct Candidate {
  int number = 0;  // from 1
  Genotype genotype{};
  std::vector<int64_t> seeds{};  // of the searches that found it
  std::string search{};          // folder of the first of them
  double valid_top1 = 0;         // after the short training
  bool kept = true;
  std::vector<double> test_top1{};  // of the full trainings
};

class StagedSearch {
 public:
  // `skeleton`: of the networks that are trained.
  StagedSearch(const Invocation& invocation, const StageOptions& options, const RunOptions& run, std::string skeleton,
               const RunDirectory& directory);

  // Runs what is left to be done.
  void run();
  // What was found and how good it is; run() first.
  Json result() const;
  const Genotype& best() const;
  void print() const;

 private:
  using Configure = std::function<void(OptionTable&)>;

  // Runs a verb in a folder of the run, goes on with it, or only reads what it left; returns its result.
  Json part(const std::string& verb, const std::string& folder, const std::vector<std::string>& words,
            const Configure& configure) const;
  Json train(const Candidate& candidate, const std::string& folder, int64_t seed,
             const std::vector<std::string>& assignments) const;
  void search();
  void eliminate();
  void train_fully();

  const Invocation& invocation_;
  const StageOptions& options_;
  const RunOptions& run_;
  std::string skeleton_;
  std::filesystem::path folder_;
  std::vector<std::string> command_;  // how the whole run was started
  Json searches_ = Json::array();
  std::vector<Candidate> candidates_;  // best first, once they are judged
};

}  // namespace nascent
