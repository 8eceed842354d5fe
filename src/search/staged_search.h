// A search in three stages (GAEA, C.1): several searches, a short training of what they found that eliminates all but
// the best, and a full training of those with several seeds.
//
// Every search and training is a run of its own, in a folder of the whole run:
//   search-1, search-2, ...   one search a seed
//   stage2-1, ...             the short training of candidate 1, ...; searches that found the same cell share one
//   stage3-1-1, ...           the full training of candidate 1 with the first seed, ...
// What is done is only read again, so the whole goes on from wherever it was stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/search/search_options.h"
#include "nascent/space/genotype.h"
#include "nascent/train/session.h"
#include "nascent/train/training.h"

namespace nascent {

// A cell that was found, and what became of it.
struct Candidate {
  int number = 0;  // from 1
  Genotype genotype{};
  std::vector<int64_t> seeds{};  // of the searches that found it
  std::string search{};          // folder of the first of them
  double found_top1 = 0;         // validation accuracy that the best of these searches measured; 0: none did
  double valid_top1 = 0;         // after the short training
  bool kept = true;
  std::vector<double> test_top1{};  // of the full trainings
};

class StagedSearch {
 public:
  // The session has begun; every search and training is a part of it.
  StagedSearch(const SearchOptions& options, Session& session);

  // Runs what is left to be done.
  void run();
  // What was found and how good it is; run() first.
  Json result() const;
  const Genotype& best() const;

 private:
  // One training, as a part of the run.
  struct Training {
    std::string folder;
    SessionStart start;
    TrainingOptions options;
  };

  void search();
  void eliminate();
  void train_fully();
  SearchOptions search_of(int number) const;
  SessionStart start_of(const SearchOptions& one) const;
  Training training(const Candidate& candidate, std::string folder, int64_t seed,
                    const std::vector<std::string>& assignments) const;
  // Where there are several ranks: all of them side by side.
  void train_ahead(const std::vector<Training>& trainings);
  Json train(const Training& one);
  std::optional<DataOptions> images_of_parts() const;
  TrainingOptions training_of(const Candidate& candidate, const std::string& recipe, int64_t seed,
                              const std::vector<std::string>& assignments) const;
  std::string reason() const;
  Json table_means() const;
  Candidate& candidate_of(const std::string& folder);

  const SearchOptions& options_;
  const StageOptions& stages_;
  Session& session_;
  Json searches_ = Json::array();
  std::vector<Candidate> candidates_;  // best first, once they are judged
};

}  // namespace nascent
