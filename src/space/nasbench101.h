// Cells of NAS-Bench-101: one input, operations on the vertices, the output a concatenation (plus the input, where it
// is connected).
#pragma once

#include <cstdint>
#include <vector>

#include "nascent/space/genotype.h"

namespace nascent {

// The cell without nodes that are not on a path from input to output. An Error where no path is left.
CellGenotype prune(const CellGenotype& cell);

// A hash that is the same for isomorphic cells (input and output fixed, loose nodes pruned) and, over all of
// NAS-Bench-101, differs for others. Iterated hashing of neighbourhoods as in the paper; the values are our own, not
// its MD5 sums.
uint64_t graph_hash(const CellGenotype& cell);

// A NAS-Bench-1Shot1 genotype in NAS-Bench-101: cells of fewer than 7 vertices get loose conv1x1 vertices to fill them
// up.
Genotype to_nasbench101(const Genotype& genotype);

// Square 0/1 matrix over input, nodes, output (row to column), and back. `ops` are those of the nodes.
using AdjacencyMatrix = std::vector<std::vector<int>>;
AdjacencyMatrix adjacency_matrix(const CellGenotype& cell);
CellGenotype cell_of_matrix(const AdjacencyMatrix& matrix, const std::vector<std::string>& ops);

// Channels of each node, given those of the cell's output: what the output concatenates adds up to it, and no node is
// narrower than the nodes it feeds. For pruned cells.
std::vector<int> vertex_channels(const CellGenotype& cell, int out);

}  // namespace nascent
