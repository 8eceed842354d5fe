// Which of some trained models make the best ensemble: any selection, by the images that their training held out.
#pragma once

#include <string>
#include <vector>

#include "nascent/ensemble/ensemble_model.h"
#include "nascent/train/run_options.h"

namespace nascent {

struct ModelSelectionOptions {
  std::vector<std::string> models{};  // the pool: files, ensembles or run folders
  std::string selection = "forward";
  int members = 3;
  int beam = 10;
  std::string combine = "probabilities";
  std::string output = "ensemble.nascent";
  DataOptions data = unknown_data();  // without a name: the models' own
  int threads = 0;

  void declare(OptionTable& table);
};

// Writes the ensemble; says who is in it, and its figures on held-out and on test images.
Json select_models(const ModelSelectionOptions& options);

}  // namespace nascent
