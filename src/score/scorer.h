// Scores of architectures of one space under fixed settings, from the cache where they are known.
//
//   Scorer scorer({.space = space, .network = size, .images = scoring_batch(data, 64, seed), .seed = seed}, options);
//   const Scores scores = scorer.scores(genotype);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/data/image_data.h"
#include "nascent/score/probe.h"
#include "nascent/score/score_cache.h"
#include "nascent/score/score_options.h"

namespace nascent {

// `count` training images chosen by the seed, as they are, in one batch; a smaller batch is the beginning of a larger
// one. An Error if there are not so many.
TensorBatch scoring_batch(const ImageData& data, int64_t count, uint64_t seed);

struct ScorerSetup {
  std::shared_ptr<const Space> space;
  NetworkOptions network;
  TensorBatch images;  // at least as many as `batch` and options.kappa_batch
  int batch = 64;
  int classes = 10;
  uint64_t seed = 1;
};

class Scorer {
 public:
  Scorer(const ScorerSetup& setup, const ScoreOptions& options);

  // Computes what is not known yet. May be called from several threads.
  Scores scores(const Genotype& genotype);
  bool knows(const Genotype& genotype) const;

  const Space& space() const { return *setup_.space; }
  const std::vector<std::string>& metrics() const { return metrics_; }  // in the order asked for
  std::vector<std::filesystem::path> cache_paths() const;

 private:
  // Metrics that are taken from the same network and batch.
  struct Study {
    ProbeSource source;
    ProbeOptions options;
    TensorBatch batch;
    std::vector<std::string> metrics;
    std::unique_ptr<ScoreCache> cache;
  };

  Study make_study(const ScoreOptions& options, int channels, int batch, const std::string& initialiser,
                   std::vector<std::string> metrics) const;

  ScorerSetup setup_;
  std::vector<std::string> metrics_;
  std::vector<Study> studies_;
};

// Scores every architecture, one per thread at a time, with a progress bar; throws Interrupted after Ctrl-C, when what
// was finished is in the cache.
std::vector<Scores> score_all(Scorer& scorer, const std::vector<Genotype>& genotypes, int threads);

}  // namespace nascent
