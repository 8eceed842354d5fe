// Scores of architectures of one space under fixed settings, from the cache where they are known.
//
//   Scorer scorer({.space = space, .network = size, .images = scoring_batch(data, 64, seed), .seed = seed}, options);
//   const Scores scores = scorer.scores(genotype);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/cluster/farm.h"
#include "nascent/data/image_data.h"
#include "nascent/score/architectures.h"
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
  bool knows(const Genotype& genotype) const { return missing(known(genotype)).empty(); }

  // The same in steps, for work that is spread. Metrics asked for that are not among those known of it:
  std::vector<std::string> missing(const Scores& known) const;
  // computes these, from the architecture alone;
  Scores compute(const Genotype& genotype, const std::vector<std::string>& metrics) const;
  // adds them to the cache, or keeps them until their turn has come (ScoreCache::keep_ahead).
  void add(const Genotype& genotype, const Scores& scores);
  void keep_ahead(const Genotype& genotype, const Scores& scores);
  Scores known(const Genotype& genotype) const;
  // All metrics asked for, of an architecture that was added; an Error where its cache has lost some since.
  Scores kept(const Genotype& genotype) const;
  Scores known_ahead(const Genotype& genotype) const;
  // Of the images, the networks and all other settings.
  std::string digest() const;

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
    Json settings{};
  };

  Study make_study(const ScoreOptions& options, int channels, int batch, const std::string& initialiser,
                   std::vector<std::string> metrics) const;
  // Those of the scores that are of this study, under their names in its cache; and back.
  static Scores cached(const Study& study, const Scores& scores);
  static void uncached(const Study& study, const Scores& known, Scores& scores);

  ScorerSetup setup_;
  std::vector<std::string> metrics_;
  std::vector<Study> studies_;
};

// How other ranks come to the same scorer and architectures: what their helper "score" is made from, and where they
// log.
struct ScoringHelp {
  Json opening;
  std::string log;
};

// Scores every architecture, one per thread and rank at a time, with a progress bar; throws Interrupted after Ctrl-C,
// when what was finished is kept. The cache gets its lines in the order of the architectures. Without `help` this
// process works alone. `computed`, where given, gets the number of those that were not known before.
ScoreColumns score_all(Scorer& scorer, const Architectures& architectures, int threads,
                       const ScoringHelp* help = nullptr, int64_t* computed = nullptr);
// Does pieces of that work on another rank: made from what `opening` says.
std::unique_ptr<cluster::Helper> scoring_helper(Scorer& scorer, const Architectures& architectures);

}  // namespace nascent
