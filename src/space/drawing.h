// Pictures of genotypes as Graphviz text: `dot -Tsvg` turns it into one.
#pragma once

#include <functional>
#include <string>

#include "nascent/space/genotype.h"

namespace nascent {

// The colour of an operation, as Graphviz writes it.
using OperationPaint = std::function<std::string(const std::string& op)>;

// One cluster per cell, left to right from inputs to output; edges carry their operation in its colour: that of its
// family where no other paint is given.
std::string to_dot(const Genotype& genotype, const OperationPaint& paint = {});

// A cell's wiring alone, small enough to stand among others: inputs left, nodes, output right, edges in the colour of
// their operation's family. `number` keeps its names apart from those of other cells.
std::string wiring_to_dot(const CellGenotype& cell, const std::string& title, int number);

// The family an operation belongs to by its stages: "none", "skip", "pool", "separable", "dilated" or "convolution".
std::string operation_family(const std::string& op);

// A name for a state: c_{k-2} and c_{k-1} for the inputs of a cell with two, "in" for a single one, the number for
// nodes.
std::string state_name(const CellGenotype& cell, int state);

}  // namespace nascent
