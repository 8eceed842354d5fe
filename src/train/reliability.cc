#include "nascent/train/reliability.h"

#include <algorithm>
#include <cmath>

namespace nascent {

void Reliability::add(double confidence, bool right) {
  const auto count = static_cast<int>(sums_.size());
  const int index = std::clamp(static_cast<int>(std::ceil(confidence * count)) - 1, 0, count - 1);
  ReliabilityBin& bin = sums_[static_cast<size_t>(index)];
  ++bin.images;
  bin.confidence += confidence;
  bin.accuracy += right ? 1 : 0;
}

std::vector<ReliabilityBin> Reliability::bins() const {
  std::vector<ReliabilityBin> means = sums_;
  for (ReliabilityBin& bin : means) {
    if (bin.images == 0) continue;
    bin.confidence /= static_cast<double>(bin.images);
    bin.accuracy /= static_cast<double>(bin.images);
  }
  return means;
}

double calibration_error(const std::vector<ReliabilityBin>& bins) {
  double gap = 0, images = 0;
  for (const ReliabilityBin& bin : bins) {
    gap += static_cast<double>(bin.images) * std::abs(bin.confidence - bin.accuracy);
    images += static_cast<double>(bin.images);
  }
  return images > 0 ? gap / images : 0;
}

Json to_json(const std::vector<ReliabilityBin>& bins) {
  Json all = Json::array();
  for (const ReliabilityBin& bin : bins)
    all.push_back({{"images", bin.images}, {"confidence", bin.confidence}, {"accuracy", bin.accuracy}});
  return all;
}

}  // namespace nascent
