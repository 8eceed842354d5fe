// How far what shared weights say of ensembles agrees with what training makes of them (thesis, Table 5.6): over all
// ensembles of a size that a few architectures can form.
#pragma once

#include <string>
#include <vector>

#include "nascent/ensemble/combination.h"
#include "nascent/train/model.h"
#include "nascent/train/run_options.h"

namespace nascent {

// One architecture's prediction by shared weights and by its own.
struct EstimatedAndTrue {
  Members estimated{}, trained{};
  Labels estimated_labels{}, trained_labels{};  // the images need not be the same
  Combination combine = Combination::probabilities;
};

struct AgreementRow {
  int size = 0;
  int64_t ensembles = 0;
  double spearman = 0, pearson = 0, agreement = 0;        // of the ensembles' errors, or losses
  double chance = 0;                                      // what the agreement of unrelated lists comes to
  double spearman_p = 1, pearson_p = 1, agreement_p = 1;  // at least as large where architectures are shuffled
};

struct AgreementSettings {
  bool losses = false;  // of the negative log-likelihoods instead of the errors
  double share = 0.3;
  int permutations = 1000;
  uint64_t seed = 1;
};

// Ensembles share members, so it is not they that are shuffled for the p-values but the architectures.
AgreementRow ensemble_agreement(const EstimatedAndTrue& pool, int size, const AgreementSettings& settings);

struct AgreementOptions {
  std::vector<std::string> models{};  // trained networks, one per architecture; files, ensembles or run folders
  std::string supernet{};             // folder of the run that trained it
  std::vector<double> sizes = {1, 3, 5, 7};
  std::vector<std::string> norms = {"batch", "running", "recalibrated"};
  std::string combine = "probabilities";
  int judge_images = 0;
  AgreementSettings settings{};
  DataOptions data = unknown_data();  // of the trained networks' test; without a name: their own
  RunOptions run{};

  void declare(OptionTable& table);
};

// Rows for every size and every choice of batch norms, by errors and by losses.
Json measure_agreement(const AgreementOptions& options);

}  // namespace nascent
