// A search that takes a fraction of a second and whose right answer is known.
//
// Images have two channels. The first is noise. In the second every pixel equals the one above it (class 0) or is its
// opposite (class 1), while neighbours in a row have nothing to do with each other; or the other way round, along the
// rows. A pixel by itself says nothing, so among `skip_connect` and convolutions that look up and down or left and
// right exactly one can tell the classes apart. The cell has one node, which takes one of two inputs: the image, or its
// noise alone. So one path is right: the image, through the convolution of the right direction.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/nn/network.h"
#include "nascent/search/one_shot/one_shot_search.h"

namespace nascent {

struct TinyProblemOptions {
  bool vertical = true;   // the direction that tells the classes apart
  bool shuffled = false;  // labels at random: nothing can be told
  bool ops_on_nodes = false;
  bool split = true;  // half of the images are held out
  int images = 256, side = 6, batch = 32;
  int channels = 4, partial = 1;
  uint64_t seed = 1;
};

class TinyProblem {
 public:
  explicit TinyProblem(const TinyProblemOptions& options);

  std::unique_ptr<OneShotSearch> search(const OneShotOptions& options) const;
  // True where the genotype is the right path.
  bool is_right(const Genotype& genotype) const;
  std::shared_ptr<const Space> space() const { return space_; }

 private:
  std::unique_ptr<Loader> loader(SearchData part) const;
  NetworkPlan plan() const;

  TinyProblemOptions options_;
  std::shared_ptr<const Space> space_;
  std::shared_ptr<const Dataset> data_;
};

}  // namespace nascent
