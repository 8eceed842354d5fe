// The figures of an ensemble, from tables of probabilities alone: docs/ensembles.md defines each of them.
//
//   const EnsembleFigures figures = ensemble_figures(members, labels);
//   figures.error, figures.disagreement
#pragma once

#include <vector>

#include "nascent/core/options.h"
#include "nascent/ensemble/combination.h"
#include "nascent/train/reliability.h"

namespace nascent {

struct EnsembleFigures {
  int64_t images = 0;
  // In percent.
  double error = 0, top5_error = 0;
  double average_error = 0;  // ATE: mean over the members of their own error
  double disagreement = 0;   // PPD: mean over pairs of members of the share of images they call differently
  double oracle_error = 0;   // no member is right
  // In nats, and 0 to 2, 0 to 1.
  double loss = 0, average_loss = 0;  // NLL of the ensemble, and the mean of its members' own
  double brier = 0, calibration_error = 0;
  double entropy = 0;             // of the ensemble's prediction, mean over images
  double mutual_information = 0;  // that entropy less the mean of the members' own: what they disagree about
  std::vector<double> member_errors{};
  std::vector<std::vector<double>> disagreements{};  // member by member, percent
  std::vector<ReliabilityBin> reliability{};

  // PPD over ATE; 0 where no member errs.
  double diversity() const { return average_error > 0 ? disagreement / average_error : 0; }
  Json to_json() const;
};

// The class that each image is called by: the first of the largest probabilities.
Labels called(const Probabilities& probabilities);
// Percent of the images that are called something else than their label.
double error_of(const Probabilities& probabilities, const Labels& labels);
std::vector<ReliabilityBin> reliability(const Probabilities& probabilities, const Labels& labels,
                                        int bins = kReliabilityBins);

// `weights` as in combine().
EnsembleFigures ensemble_figures(const Members& members, const Labels& labels,
                                 Combination how = Combination::probabilities, std::span<const double> weights = {});

// Mean over trials and its standard error (deviation over the root of their number; 0 for one trial).
struct MeanAndError {
  double mean = 0, error = 0;
};
MeanAndError mean_and_error(std::span<const double> trials);
// The same for every number of objects of one form.
Json mean_and_error(const std::vector<Json>& trials);

}  // namespace nascent
