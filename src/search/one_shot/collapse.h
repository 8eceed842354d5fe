// Collapse: a cell whose choices have all become the same operation, as when DARTS runs into skip connections.
#pragma once

#include <string>
#include <vector>

#include "nascent/nn/mixture.h"
#include "nascent/space/space.h"

namespace nascent {

struct CollapsedCell {
  std::string type, op;
  bool on_nodes = false;  // where the operations stand
};

// The cells of `genotype` that hold one operation only. A cell with a site that has no favourite among the operations a
// genotype may have, as before the first step, has not chosen and so has not collapsed.
std::vector<CollapsedCell> collapsed_cells(const Space& space, const Genotype& genotype, const Mixture& probabilities);

// "every edge of the normal cell is skip_connect"; cells of the same operation are named together; "" for none.
std::string describe(const std::vector<CollapsedCell>& cells);

}  // namespace nascent
