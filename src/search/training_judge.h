// Judging by training: an architecture is trained from scratch for the budget's epochs and judged by held-out
// images. Every outcome is on disk at once, so that a search that was killed loses at most the training in flight, and
// searches with the same settings train nothing twice.
//
//   TrainingJudge judge({.space = space, .data = data_options, .images = images, .train = train}, folder);
//   const SearchTrace trace = search(*strategy, judge, 1e9, 25);
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nascent/data/image_data.h"
#include "nascent/score/score_cache.h"
#include "nascent/search/judge.h"
#include "nascent/space/plan.h"
#include "nascent/train/trainer.h"

namespace nascent {

struct TrainingJudgeSetup {
  std::shared_ptr<const Space> space;
  DataOptions data;
  const ImageData& images;  // made from `data`; some are held out
  NetworkOptions network{};
  TrainOptions train{};  // its epochs are the budget's
  int epochs = 1;        // of a judgement
  uint64_t seed = 1;
};

class TrainingJudge : public Judge {
 public:
  // Outcomes are kept in `folder`, or in memory only where that is "". An Error where no images are held out.
  TrainingJudge(const TrainingJudgeSetup& setup, const std::filesystem::path& folder);

  // Throws Interrupted after Ctrl-C.
  Judgement judge_anew(const Genotype& genotype, const Budget& budget) override;
  std::optional<Judgement> recall(const Genotype& genotype, const Budget& budget) override;
  void remember(const Genotype& genotype, const Budget& budget, const Judgement& found) override;
  void keep_ahead(const Genotype& genotype, const Budget& budget, const Judgement& found) override;
  Budget budget() const override { return Budget(setup_.epochs); }
  // Whole schedules of a ninth, a third and all of the epochs.
  std::vector<Budget> fidelities() const override;

 private:
  void say(const Genotype& genotype, const Budget& budget, const Judgement& found, bool known) const;
  double trained_accuracy(const Genotype& genotype, const Budget& budget) const;

  TrainingJudgeSetup setup_;
  std::unique_ptr<ScoreCache> cache_;
};

}  // namespace nascent
