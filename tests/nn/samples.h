// Small images, networks and mixtures for the tests of src/nn.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/plan.h"
#include "nascent/space/space.h"

namespace nascent::testing_nn {

inline at::Tensor normal_tensor(at::IntArrayRef sizes, uint64_t seed, at::ScalarType type = at::kFloat) {
  RandomStream random(seed, "test");
  at::Tensor values = at::empty(sizes, at::kDouble);
  double* out = values.data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i) out[i] = random.normal();
  return values.to(type);
}

inline at::Tensor sample_images(const Shape& shape, int64_t count, uint64_t seed = 1,
                                at::ScalarType type = at::kFloat) {
  // As the loader hands them over: a view of [N, H, W, C].
  return normal_tensor({count, shape.height, shape.width, shape.channels}, seed, type).permute({0, 3, 1, 2});
}

inline Mixture uniform_mixture(const Space& space, at::ScalarType type = at::kFloat) {
  const int64_t ops = static_cast<int64_t>(space.ops().size());
  Mixture mixture;
  for (const CellChoices& cell : space.cells()) {
    const int64_t edges = static_cast<int64_t>(Space::edges(cell).size());
    mixture[cell.type].ops = at::full({Space::sites(cell), ops}, 1.0 / ops, type).requires_grad_(true);
    mixture[cell.type].edges = at::full({edges}, 0.5, type).requires_grad_(true);
  }
  return mixture;
}

inline int64_t op_index(const Space& space, const std::string& op) {
  const auto& ops = space.ops();
  return std::find(ops.begin(), ops.end(), op) - ops.begin();
}

// Weight 1 on what the genotype has, 0 on all else.
inline CellMixture one_hot(const Space& space, const CellChoices& cell, const CellGenotype& genotype) {
  const auto edges = Space::edges(cell);
  CellMixture mixture;
  mixture.ops = at::zeros({Space::sites(cell), static_cast<int64_t>(space.ops().size())}, at::kDouble);
  mixture.edges = at::zeros({static_cast<int64_t>(edges.size())}, at::kDouble);
  for (size_t row = 0; row < edges.size(); ++row) {
    const auto [from, to] = edges[row];
    if (to < 0) {
      for (const int state : genotype.output) mixture.edges[row] += state == from ? 1 : 0;
      if (cell.output_keep == 0) mixture.edges[row] = 1;
      continue;
    }
    for (const GenotypeEdge& edge : genotype.nodes[to - cell.inputs].edges) {
      if (edge.from != from) continue;
      mixture.edges[row] = 1;
      if (!cell.ops_on_nodes) mixture.ops[row][op_index(space, edge.op)] += 1;
    }
  }
  for (size_t n = 0; cell.ops_on_nodes && n < genotype.nodes.size(); ++n) {
    mixture.ops[n][op_index(space, genotype.nodes[n].op)] = 1;
  }
  return mixture;
}

inline Mixture one_hot_mixture(const Space& space, const Genotype& genotype) {
  Mixture mixture;
  for (const CellChoices& cell : space.cells()) mixture[cell.type] = one_hot(space, cell, genotype.cell(cell.type));
  return mixture;
}

// Runs only what has weight.
inline Mixture only_active(Mixture mixture) {
  for (auto& [type, cell] : mixture) {
    for (int64_t site = 0; site < cell.ops.size(0); ++site) {
      auto& active = cell.active.emplace_back();
      for (int64_t op = 0; op < cell.ops.size(1); ++op) {
        if (cell.ops[site][op].item<double>() != 0) active.push_back(static_cast<int>(op));
      }
    }
  }
  return mixture;
}

inline std::vector<std::string> spaces_with_supernet() {
  std::vector<std::string> names = Space::Registry::instance().names();
  std::erase(names, "nasbench101");  // its graphs have no supernet
  return names;
}

inline NetworkOptions small_options(const Space& space) {
  NetworkOptions options;
  options.channels = 4;
  if (space.name() != "darts-s2") options.cells = space.skeleton() == "darts" ? 3 : 1;
  return options;
}

}  // namespace nascent::testing_nn
