// t-SNE (van der Maaten & Hinton 2008), exact: rows of numbers as points of the plane, neighbours beside each other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace nascent {

struct TsneOptions {
  double perplexity = 30;  // lowered to a third of the points where there are few
  int iterations = 1000;
  double rate = 200;
  uint64_t seed = 1;
};

using PlanePoint = std::array<double, 2>;
std::vector<PlanePoint> tsne(const std::vector<std::vector<double>>& rows, const TsneOptions& options = {});

}  // namespace nascent
