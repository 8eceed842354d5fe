// A kernel density over lists of choices: Aitchison and Aitken's kernel for unordered options, one bandwidth per
// choice.
#pragma once

#include <vector>

#include "nascent/core/random.h"
#include "nascent/search/encoding.h"

namespace nascent {

class ChoiceDensity {
 public:
  // `sizes` are the numbers of options. A bandwidth is the probability that a kernel gives to all other options
  // together: it shrinks as points become more, but not below `min_bandwidth`.
  ChoiceDensity(std::vector<Choices> points, std::vector<int> sizes, double min_bandwidth);

  double density(const Choices& choices) const;
  // Drawn around one of the points, from kernels that are wider by `factor`.
  Choices sample(RandomStream& random, double factor) const;

 private:
  // At most what a uniform distribution gives to the other options.
  double bandwidth(size_t choice, double factor = 1) const;

  std::vector<Choices> points_;
  std::vector<int> sizes_;
  double min_bandwidth_;
};

}  // namespace nascent
