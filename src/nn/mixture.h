// How a supernet's candidates are weighted in one forward pass: what every relaxation produces and every supernet
// consumes.
//
//   Mixture mixture;
//   mixture["normal"].ops = torch::softmax(alpha, 1);  // [14, 8] in the DARTS space
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace nascent {

// Weights of one type of cell. Rows follow Space::sites() and Space::edges().
struct CellMixture {
  at::Tensor ops;    // [sites, ops], or [sites, ops, images] to weight images apart; gradients flow back through it
  at::Tensor edges;  // [edges], or undefined where edges are not weighted
  // Per site, the candidates that run; those left out are neither run nor differentiated. A site with an empty list
  // adds nothing; where the whole table is empty, all candidates of all sites run.
  std::vector<std::vector<int>> active;
  // [sites], added to every pixel of what a site gives: the weights of candidates that do not run (GDAS, as released);
  // undefined: nothing is.
  at::Tensor shifts{};
};

using Mixture = std::map<std::string, CellMixture>;  // by cell type

}  // namespace nascent
