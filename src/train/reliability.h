// How far a network's probabilities can be trusted: confidence beside accuracy.
#pragma once

#include <cstdint>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

// Images whose confidence (largest probability) falls into one of equal parts of [0, 1].
struct ReliabilityBin {
  int64_t images = 0;
  double confidence = 0, accuracy = 0;  // means, 0 to 1
};

constexpr int kReliabilityBins = 15;

class Reliability {
 public:
  explicit Reliability(int bins = kReliabilityBins) : sums_(static_cast<size_t>(bins)) {}
  void add(double confidence, bool right);
  std::vector<ReliabilityBin> bins() const;

 private:
  std::vector<ReliabilityBin> sums_;
};

// Expected calibration error (Guo et al., 2017), 0 to 1: mean gap of confidence and accuracy, weighted by images.
double calibration_error(const std::vector<ReliabilityBin>& bins);
Json to_json(const std::vector<ReliabilityBin>& bins);

}  // namespace nascent
