// Weights trained by the published code of DARTS and PC-DARTS, made into a model of ours.
//
//   const Model model = import_darts(read_state_dict("cifar10_model.pt"), {.genotype = "darts-v2"});
#pragma once

#include <string>
#include <vector>

#include "nascent/export/state_dict.h"
#include "nascent/train/model.h"

namespace nascent {

struct ImportOptions {
  std::string genotype{};
  std::string space{};                      // "": the one that the genotype names
  int side = 0;                             // of the images; 0: 32, and 224 for networks with ImageNet's stem
  std::vector<double> mean{}, deviation{};  // of pixels in 0..1; empty: those of the published code
  std::vector<std::string> class_names{};   // empty: "class 0", ...
  std::string data{};                       // the data set that it was trained on, for eval; "": unknown
  std::string path{};                       // its folder
  void declare(OptionTable& table);
};

// Sizes follow from the weights. An auxiliary head is left out: it plays no part after training. An Error where weights
// are missing, left over or of another shape, as they are when the genotype is another.
Model import_darts(const StateDict& weights, const ImportOptions& options, const std::string& origin);

}  // namespace nascent
