// A search space: which cells there are, which choices each offers, and how networks are stacked from them.
//
//   auto space = find_space("nasbench201");
//   Genotype g = space->sample(random);
//
// A choice is one of two kinds. A *site* picks one operation from `ops`: on every candidate edge (DARTS, NAS-Bench-201)
// or on every node (NAS-Bench-1Shot1). The *edges* of a node are picked from its candidate inputs, `keep` of them.
// Relaxations give every site a row of weights over `ops` and, where a space or method wants it, every edge a weight of
// its own.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/core/registry.h"
#include "nascent/space/genotype.h"

namespace nascent {

// One intermediate node of a cell.
struct NodeChoices {
  std::vector<int> inputs{};  // states it may take, ascending
  int keep = 2;               // how many of them a genotype keeps; 0: any number (NAS-Bench-101 only)
};

// What a type of cell may become.
struct CellChoices {
  std::string type{};
  int inputs = 2;
  std::vector<NodeChoices> nodes{};
  std::vector<int> output{};   // states that form the output; with output_keep > 0, the candidates for it
  int output_keep = 0;         // > 0: a genotype keeps this many of `output` (1Shot1)
  bool loose_output = false;   // the output is the nodes that no node takes (NASNet); `output` lists all nodes
  bool repeat_inputs = false;  // a node may take an input twice (AmoebaNet); otherwise its inputs differ
  bool ops_on_nodes = false;   // sites are nodes instead of edges; edges are then "skip_connect"
};

// A candidate edge; `to` is the state it leads into, or -1 for the cell's output.
struct CandidateEdge {
  int from = 0, to = 0;
};

class Space {
 public:
  static std::string kind() { return "search space"; }
  using Registry = nascent::Registry<Space, std::shared_ptr<const Space>()>;

  virtual ~Space() = default;

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  // The candidates of every site of the supernet.
  const std::vector<std::string>& ops() const { return ops_; }
  // Those a genotype may contain: ops(), without `none` where it only serves the search (DARTS).
  const std::vector<std::string>& genotype_ops() const { return genotype_ops_; }
  const std::vector<CellChoices>& cells() const { return cells_; }
  const std::string& skeleton() const { return skeleton_; }
  // How many cells and channels its search network has by default (for nasbench201: cells per stage).
  int default_cells() const { return default_cells_; }
  int default_channels() const { return default_channels_; }
  // True where every cell of the network has an architecture of its own (DARTS S2), so that the number of cells is
  // fixed.
  bool own_cells() const { return own_cells_; }

  // The cell type used at position `index` of `count` cells; `reduction` where the skeleton halves the image. By
  // default "reduce" for reductions, where the space has such a type, and the first type elsewhere.
  virtual std::string type_at(int index, int count, bool reduction) const;
  const CellChoices& cell(const std::string& type) const;  // an Error if there is none

  // Candidate edges of a cell in the order of its architecture parameters: by node, then by input; edges to the output
  // last.
  static std::vector<CandidateEdge> edges(const CellChoices& cell);
  // Number of sites: rows of architecture parameters over ops().
  static int sites(const CellChoices& cell);

  virtual double count() const = 0;  // number of architectures (exact while below 2^53)
  virtual Genotype sample(RandomStream& random) const = 0;
  // A copy with one choice changed: an operation, or an input of a node.
  virtual Genotype mutate(const Genotype& genotype, RandomStream& random) const = 0;
  // Calls `visit` with each architecture until it returns false. An Error where there are more than 2^53; so for
  // index_of and at.
  virtual void enumerate(const std::function<bool(const Genotype&)>& visit) const = 0;
  // The architecture's place in enumerate()'s order, and back.
  virtual double index_of(const Genotype& genotype) const = 0;
  virtual Genotype at(double index) const = 0;
  // An Error that says what is wrong, if the genotype does not belong to the space. The order of a node's edges is
  // free.
  virtual void validate(const Genotype& genotype) const = 0;
  // As validate(), for architectures from elsewhere: `none` is taken where the search knows it, and an input that a
  // node takes twice. Published DARTS cells have both.
  virtual void validate_published(const Genotype& genotype) const { validate(genotype); }

 protected:
  std::string name_, description_, skeleton_;
  std::vector<std::string> ops_, genotype_ops_;
  std::vector<CellChoices> cells_;
  int default_cells_ = 8, default_channels_ = 16;
  bool own_cells_ = false;
};

// A space by name, or from a TOML file (docs/spaces.md) where `name_or_path` ends in .toml.
std::shared_ptr<const Space> find_space(const std::string& name_or_path);

}  // namespace nascent
