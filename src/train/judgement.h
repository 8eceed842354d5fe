// More than accuracy: which classes a network knows, which it takes for which, how far its probabilities can be
// trusted, and its worst mistakes.
#pragma once

#include <cstdint>
#include <vector>

#include "nascent/train/evaluate.h"

namespace nascent {

struct Mistake {
  int64_t image = 0;  // its index in the part of the data set
  int label = 0, predicted = 0;
  double probability = 0;  // that the network gave to what it predicted
};

struct Judgement {
  Evaluation scores;
  std::vector<std::vector<int64_t>> confusion;  // images by label, then by what was predicted
  // Expected calibration error, in points of a per cent: how far the probability of the predicted class is from how
  // often it is right, over 15 bins of equal width (Guo et al., 2017).
  double calibration_error = 0;
  std::vector<Mistake> worst;  // the most certain ones first

  double class_accuracy(int label) const;  // in per cent; of no images: 0
  Json to_json(const std::vector<std::string>& class_names) const;
};

// Scores the network as evaluate() does, and keeps at most `worst` mistakes.
Judgement judge(Network& network, Loader& loader, int classes, int worst);

}  // namespace nascent
