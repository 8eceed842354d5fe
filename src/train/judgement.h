// More than accuracy: which classes a network knows, which it takes for which, how far its probabilities can be
// trusted, and its worst mistakes.
#pragma once

#include <cstdint>
#include <vector>

#include "nascent/data/dataset.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/reliability.h"

namespace nascent {

struct Mistake {
  int64_t image = 0;  // its index in the part of the data set
  int label = 0, predicted = 0;
  double probability = 0;  // that the network gave to what it predicted
};

struct Judgement {
  Evaluation scores;
  std::vector<std::vector<int64_t>> confusion;  // images by label, then by what was predicted
  std::vector<ReliabilityBin> reliability;
  double calibration_error = 0;  // expected, in points of a per cent
  std::vector<Mistake> worst;    // the most certain ones first

  double class_accuracy(int label) const;  // in per cent; of no images: 0
  // With class names, all that judgement_section() shows.
  Json to_json(const std::vector<std::string>& class_names) const;
};

// The picture of every mistake, as a page shows it, beside it in the JSON form of the judgement of these images.
void add_pictures(Json& judgement, const Dataset& images);

// Scores the network as evaluate() does, and keeps at most `worst` mistakes.
Judgement judge(Network& network, Loader& loader, int classes, int worst);

}  // namespace nascent
