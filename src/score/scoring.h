// Training-free scores of architectures: one, some, a sample of a space, or all of it.
//
//   ScoringOptions options;
//   options.genotypes = {"nasbench201:1462"};
//   const ScoringResult result = score(options);   // result.scores[0].at("trace")
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/score/scorer.h"
#include "nascent/train/run_options.h"

namespace nascent {

struct ScoringOptions {
  std::vector<std::string> genotypes{};  // as find_genotype() takes them; empty: those below
  std::string table{};                   // a benchmark's, all of whose architectures are scored; "": those below
  std::string space = "nasbench201";     // of `all` and `sample`
  bool all = false;                      // every architecture of the space
  int64_t sample = 0;                    // so many, drawn at random
  ScoreOptions score{};
  NetworkOptions network{};
  DataOptions data{};
  RunOptions run{};  // seed, threads and engine

  ScoringOptions() { data.valid_fraction = 0; }
  void declare(
      OptionTable& table);  // sections "score", "network", "data", "run"; genotypes and table are named by the caller
};

struct ScoringResult {
  Architectures genotypes{};
  std::vector<std::string> metrics{};  // in the order asked for
  ScoreColumns scores{};               // as genotypes
  int64_t computed = 0;                // those that were not known before
  double seconds = 0;
  std::vector<std::filesystem::path> caches{};

  // Up to a hundred thousand architectures with their scores; of more, how many.
  Json to_json() const;
};

// An Error where the architectures are of several spaces. Throws Interrupted after Ctrl-C, when what was finished is in
// the cache.
ScoringResult score(const ScoringOptions& options);

// Where scores are taken: networks of `network`'s size on the first images of a batch that the seed chooses.
ScorerSetup scorer_setup(const std::shared_ptr<const Space>& space, const NetworkOptions& network,
                         const ScoreOptions& options, const ImageData& data, int batch, uint64_t seed);
// The place of the best: the highest value, or the lowest where that is better; what is no number is worse than all.
size_t best_by(const std::string& metric, const ScoreColumns& scores);
// A CSV file, one architecture per line: arch,METRIC,...
void write_scores(const std::filesystem::path& path, const Architectures& architectures, const ScoreColumns& scores);

}  // namespace nascent
