// Who says how good an ensemble of architectures is: predictions of each on held-out images, made once, kept on disk.
//
//   SharedWeightsJudge judge(supernet, {.norms = "batch"}, folder);
//   judge.loss({a, b, c});   // of the combined prediction
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "nascent/core/progress.h"
#include "nascent/ensemble/figures.h"
#include "nascent/ensemble/supernet.h"

namespace nascent {

class EnsembleJudge {
 public:
  // `folder` holds a file per architecture; what is there already is not computed again.
  EnsembleJudge(std::filesystem::path folder, Combination combine);
  virtual ~EnsembleJudge() = default;
  EnsembleJudge(const EnsembleJudge&) = delete;
  EnsembleJudge& operator=(const EnsembleJudge&) = delete;

  const Probabilities& predictions(const Genotype& genotype);
  const Labels& labels() const { return labels_; }  // known after the first prediction
  Members members(const std::vector<Genotype>& genotypes);
  // The same where they are kept, for pools that are too large to copy.
  std::vector<const Probabilities*> tables(const std::vector<Genotype>& genotypes);
  // Negative log-likelihood of the combined prediction; counts as an ensemble judged.
  double loss(const std::vector<Genotype>& genotypes);

  // Figures of the combined prediction on test images, which choose nothing; nothing where none are asked for.
  virtual std::optional<EnsembleFigures> test(const std::vector<Genotype>&, const std::vector<double>& /*weights*/) {
    return std::nullopt;
  }

  Combination combine() const { return combine_; }
  int64_t networks() const { return static_cast<int64_t>(known_.size()); }  // architectures evaluated
  int64_t ensembles() const { return ensembles_; }                          // ensembles judged
  void count_ensembles(int64_t more) { ensembles_ += more; }

 protected:
  virtual Predictions evaluate(const Genotype& genotype) = 0;

 private:
  std::filesystem::path folder_;
  Combination combine_;
  Labels labels_;
  std::map<std::string, Probabilities> known_;  // by the architecture's text
  int64_t ensembles_ = 0;
};

struct SharedWeightsOptions {
  std::string norms = "batch";
  int64_t images = 0;       // 0: all held-out ones
  int64_t test_images = 0;  // that ensembles are tested on; 0: none
};

// With the weights of a supernet.
class SharedWeightsJudge : public EnsembleJudge {
 public:
  SharedWeightsJudge(const Supernet& supernet, const SharedWeightsOptions& options, std::filesystem::path folder,
                     Combination combine);
  std::optional<EnsembleFigures> test(const std::vector<Genotype>& genotypes,
                                      const std::vector<double>& weights) override;

 protected:
  Predictions evaluate(const Genotype& genotype) override { return answers(genotype, *judging_, options_.images); }

 private:
  Predictions answers(const Genotype& genotype, Loader& loader, int64_t images);

  const Supernet& supernet_;
  SharedWeightsOptions options_;
  std::unique_ptr<Loader> judging_, training_, testing_;
};

// By training each network: `train` leaves predictions on held-out images.
class TrainedJudge : public EnsembleJudge {
 public:
  using Train = std::function<Predictions(const Genotype&, int64_t number)>;
  TrainedJudge(Train train, std::filesystem::path folder, Combination combine)
      : EnsembleJudge(std::move(folder), combine), train_(std::move(train)) {}

 protected:
  Predictions evaluate(const Genotype& genotype) override { return train_(genotype, networks() + 1); }

 private:
  Train train_;
};

}  // namespace nascent
