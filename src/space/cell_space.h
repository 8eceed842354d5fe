// Spaces whose cells are lists of choices: all built-in ones but NAS-Bench-101, and those that users define in TOML.
#pragma once

#include <string>
#include <vector>

#include "nascent/space/choice_code.h"
#include "nascent/space/space.h"

namespace nascent {

// What a space is made of, as plain data.
struct SpaceDescription {
  std::string name{}, description{};
  std::string skeleton = "darts";
  std::vector<std::string> ops{};
  std::vector<std::string> search_only{};  // those of `ops` that are candidates in the search, but in no genotype
  std::vector<CellChoices> cells{};        // one per type
  bool own_cells = false;                  // the cell at position i is of type cells[i], and the network has that many
  int default_cells = 8, default_channels = 16;
};

// A node that may take every state before it, `keep` of them; a cell of `nodes` such nodes whose output is all its
// nodes.
NodeChoices any_inputs(int states_before, int keep);
CellChoices dense_cell(const std::string& type, int inputs, int nodes, int keep);
// The states `first` to `last`, both included.
std::vector<int> states(int first, int last);
// The nodes of a cell that no node takes.
std::vector<int> loose_ends(const CellGenotype& cell);

class CellSpace : public Space {
 public:
  // An Error says which part of the description is impossible.
  explicit CellSpace(SpaceDescription description);

  std::string type_at(int index, int count, bool reduction) const override;
  double count() const override { return count_; }
  Genotype sample(RandomStream& random) const override;
  Genotype mutate(const Genotype& genotype, RandomStream& random) const override;
  void enumerate(const std::function<bool(const Genotype&)>& visit) const override;
  double index_of(const Genotype& genotype) const override;
  Genotype at(double index) const override;
  void validate(const Genotype& genotype) const override { validate_as(genotype, Origin::kSpace); }
  void validate_published(const Genotype& genotype) const override { validate_as(genotype, Origin::kPublished); }

 private:
  enum class Origin { kSpace, kPublished };
  struct CellCode {
    std::vector<NodeCode> nodes;
    double outputs = 1;  // ways to pick the output
  };

  void check_description() const;
  void check_cell(const CellChoices& cell) const;
  void check_output(const CellChoices& cell) const;
  void require_exact() const;
  void validate_as(const Genotype& genotype, Origin origin) const;
  void validate_cell(const CellChoices& choices, const CellGenotype& cell, Origin origin) const;
  void validate_node(const CellChoices& choices, const CellGenotype& cell, size_t node, Origin origin) const;
  void validate_output(const CellChoices& choices, const CellGenotype& cell) const;
  // A genotype whose digits come from `digit(radix)`, called from the last digit to the first.
  Genotype from_digits(const std::function<int64_t(int64_t radix)>& digit) const;

  std::vector<CellCode> codes_;  // one per cell type
  double count_ = 1;
};

}  // namespace nascent
