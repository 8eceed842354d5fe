// The graphs of NAS-Bench-101 in a compact form, all of them at hand.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nascent/space/genotype.h"

namespace nascent {

constexpr int kMaxVertices = 7;
constexpr int kMaxEdges = 9;

// A directed graph whose edges lead from lower to higher vertices: 0 is the input, the last one the output.
struct LabelledGraph {
  LabelledGraph() = default;
  // For pruned cells; labels are hashes of the operations' names. An Error where it has more than 7 vertices.
  explicit LabelledGraph(const CellGenotype& cell);

  int vertices = 2;
  std::array<uint32_t, kMaxVertices> into{};    // bit i of into[j]: edge from i to j
  std::array<uint64_t, kMaxVertices> labels{};  // of the inner vertices
};

// The same for isomorphic graphs with the same labels.
uint64_t hash(const LabelledGraph& graph);

// One architecture of the benchmark, in a few bytes.
struct PackedGraph {
  uint8_t vertices = 2;
  uint8_t ops = 0;     // base-3 digits, the first inner vertex most significant
  uint32_t edges = 0;  // upper triangle of the matrix row by row, (0, 1) in bit 0
};

// Every architecture once: by number of vertices, then matrix, then operations. Built on first use, in about a second.
class NasBench101Graphs {
 public:
  static const NasBench101Graphs& instance();

  const std::vector<PackedGraph>& graphs() const { return graphs_; }
  CellGenotype cell(size_t index) const;
  // -1 where the cell is not in the benchmark.
  int64_t find(const CellGenotype& pruned) const;
  static const std::vector<std::string>& ops();

  // All architectures of the given number of vertices; the benchmark joins those of 2 to 7.
  static std::vector<PackedGraph> of_size(int vertices);

 private:
  NasBench101Graphs();

  std::vector<PackedGraph> graphs_;
  std::unordered_map<uint64_t, int64_t> index_;
};

}  // namespace nascent
