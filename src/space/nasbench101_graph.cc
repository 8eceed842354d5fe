#include "nascent/space/nasbench101_graph.h"

#include <bit>
#include <unordered_set>

#include "nascent/core/error.h"

namespace nascent {

namespace {

// The finaliser of SplitMix64.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// FNV-1a, so that hashes do not depend on the standard library.
uint64_t name_hash(const std::string& name) {
  uint64_t h = 0xcbf29ce484222325;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3;
  return h;
}

int triangle(int vertices) { return vertices * (vertices - 1) / 2; }

LabelledGraph unpack(const PackedGraph& packed) {
  LabelledGraph graph;
  graph.vertices = packed.vertices;
  int bit = 0;
  for (int from = 0; from < graph.vertices; ++from) {
    for (int to = from + 1; to < graph.vertices; ++to, ++bit) {
      if (packed.edges >> bit & 1) graph.into[to] |= 1u << from;
    }
  }
  int code = packed.ops;
  for (int v = graph.vertices - 2; v > 0; --v, code /= 3) {
    graph.labels[v] = name_hash(NasBench101Graphs::ops()[code % 3]);
  }
  return graph;
}

// Every vertex is on a path from input to output: each but the input has a predecessor, each but the output a
// successor.
bool is_full(const LabelledGraph& graph) {
  uint32_t leaves = 0;
  for (int v = 1; v < graph.vertices; ++v) {
    if (!graph.into[v]) return false;
    leaves |= graph.into[v];
  }
  return leaves == (1u << (graph.vertices - 1)) - 1;
}

void add_labellings(std::vector<PackedGraph>& all, PackedGraph packed) {
  int labellings = 1;
  for (int v = 0; v < packed.vertices - 2; ++v) labellings *= 3;
  std::unordered_set<uint64_t> seen;
  for (int code = 0; code < labellings; ++code) {
    packed.ops = static_cast<uint8_t>(code);
    if (seen.insert(hash(unpack(packed))).second) all.push_back(packed);
  }
}

}  // namespace

LabelledGraph::LabelledGraph(const CellGenotype& cell) : vertices(static_cast<int>(cell.nodes.size()) + 2) {
  if (vertices > kMaxVertices) {
    fail("A NAS-Bench-101 cell has at most {} vertices with input and output, but this one has {}.", kMaxVertices,
         vertices);
  }
  for (int v = 1; v + 1 < vertices; ++v) {
    for (const GenotypeEdge& edge : cell.nodes[v - 1].edges) into[v] |= 1u << edge.from;
    labels[v] = name_hash(cell.nodes[v - 1].op);
  }
  for (int state : cell.output) into[vertices - 1] |= 1u << state;
}

// Each round hashes a vertex with the hashes of its predecessors and successors, added up so that their order does not
// matter; after as many rounds as there are vertices each hash knows the whole graph.
uint64_t hash(const LabelledGraph& graph) {
  std::array<uint64_t, kMaxVertices> now{}, next{};
  const int n = graph.vertices;
  for (int v = 0; v < n; ++v) now[v] = mix(graph.labels[v] + (v == 0 ? 1 : v == n - 1 ? 2 : 3));
  for (int round = 0; round < n; ++round) {
    std::array<uint64_t, kMaxVertices> in{}, out{};
    for (int to = 1; to < n; ++to) {
      for (uint32_t left = graph.into[to]; left; left &= left - 1) {
        const int from = std::countr_zero(left);
        in[to] += mix(now[from] ^ 0x5bd1e995);
        out[from] += mix(now[to] ^ 0x1b873593);
      }
    }
    for (int v = 0; v < n; ++v) next[v] = mix(now[v] + 3 * mix(in[v]) + 5 * mix(out[v] + 1));
    now = next;
  }
  uint64_t sum = static_cast<uint64_t>(n);
  for (int v = 0; v < n; ++v) sum += mix(now[v]);
  return mix(sum);
}

const std::vector<std::string>& NasBench101Graphs::ops() {
  static const std::vector<std::string> ops = {"conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3"};
  return ops;
}

std::vector<PackedGraph> NasBench101Graphs::of_size(int vertices) {
  std::vector<PackedGraph> all;
  // Labelled graphs can only be isomorphic if the bare ones are, so one matrix of each bare class is enough.
  std::unordered_set<uint64_t> bare;
  for (uint32_t edges = 0; edges < 1u << triangle(vertices); ++edges) {
    if (std::popcount(edges) > kMaxEdges) continue;
    const PackedGraph packed{.vertices = static_cast<uint8_t>(vertices), .ops = 0, .edges = edges};
    const LabelledGraph graph = unpack(packed);
    if (is_full(graph) && bare.insert(hash(graph)).second) add_labellings(all, packed);
  }
  return all;
}

NasBench101Graphs::NasBench101Graphs() {
  for (int vertices = 2; vertices <= kMaxVertices; ++vertices) {
    for (const PackedGraph& packed : of_size(vertices)) {
      index_.emplace(hash(unpack(packed)), static_cast<int64_t>(graphs_.size()));
      graphs_.push_back(packed);
    }
  }
}

const NasBench101Graphs& NasBench101Graphs::instance() {
  static const NasBench101Graphs graphs;
  return graphs;
}

CellGenotype NasBench101Graphs::cell(size_t index) const {
  const PackedGraph& packed = graphs_.at(index);
  const LabelledGraph graph = unpack(packed);
  CellGenotype cell{.type = "cell", .inputs = 1};
  cell.nodes.resize(graph.vertices - 2);
  int code = packed.ops;
  for (size_t n = cell.nodes.size(); n-- > 0; code /= 3) cell.nodes[n].op = ops()[code % 3];
  for (int to = 1; to < graph.vertices; ++to) {
    for (int from = 0; from < to; ++from) {
      if (!(graph.into[to] >> from & 1)) continue;
      if (to + 1 < graph.vertices) {
        cell.nodes[to - 1].edges.push_back({from});
      } else {
        cell.output.push_back(from);
      }
    }
  }
  return cell;
}

int64_t NasBench101Graphs::find(const CellGenotype& pruned) const {
  const auto it = index_.find(hash(LabelledGraph(pruned)));
  return it == index_.end() ? -1 : it->second;
}

}  // namespace nascent
