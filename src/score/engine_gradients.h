// Moments of the images' own gradients where the fused engine computes the cells of a network.
#pragma once

#include <map>
#include <string>

#include "nascent/score/gradient_moments.h"

namespace nascent {

class EngineGradients {
 public:
  // Whether every cell is fused as a whole, and every layer outside of them is one step of the tape. The network has to
  // be in evaluation mode, where images do not depend on one another.
  static bool can_compute(const Tape& tape, const Network& network);

  // Both must outlive this.
  EngineGradients(const Tape& tape, Network& network);

  // Of the cross-entropies of these images, each by itself: all parameters that a path joins to the logits.
  void for_each_moment(const at::Tensor& images, const at::Tensor& labels, const MomentsVisitor& visit) const;

 private:
  struct CellParameter {
    std::string layer, name;
    at::Tensor tensor;
  };

  const Tape& tape_;
  Network& network_;
  std::map<const Layer*, const Step*> outside_;  // layers before and behind the cells
  std::vector<CellParameter> inside_;
};

}  // namespace nascent
