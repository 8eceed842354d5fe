// Genotypes as numbers: which candidate inputs every node keeps, and which operation stands at every site. What
// distributions over architectures and continuous particles are turned into.
#pragma once

#include <string>
#include <vector>

#include "nascent/space/space.h"

namespace nascent {

// Candidate edges into one node, of which a genotype keeps some.
struct EdgeGroup {
  int node = 0;               // -1: the cell's output
  int keep = 0;               // how many
  std::vector<int> rows{};    // in Space::edges()
  std::vector<int> states{};  // where they come from
  bool chooses() const { return keep < static_cast<int>(rows.size()); }
};

// An Error where a node keeps any number of inputs (NAS-Bench-101): such spaces have no supernet of this kind.
std::vector<EdgeGroup> edge_groups(const CellChoices& cell);

struct CellCode {
  std::vector<std::vector<int>> kept{};  // per group, positions in it, ascending
  std::vector<int> ops{};                // per site, index in Space::ops(); of edges that are left out, anything
};

// Codes follow Space::cells().
Genotype decode(const Space& space, const std::vector<CellCode>& codes);
// The code of a genotype; sites that are left out get -1. An Error where a node takes an input twice: shared weights
// hold one operation per edge.
std::vector<CellCode> encode(const Space& space, const Genotype& genotype);

// The indices of Space::ops() that genotypes may hold.
std::vector<int> genotype_op_indices(const Space& space);

}  // namespace nascent
