// Numbers for choices: every way to fill a node, and every way to pick a cell's output, has a number from 0 up. A
// genotype is then a list of digits, which makes counting, sampling, enumerating and indexing one thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/space/space.h"

namespace nascent {

// Whole numbers up to 2^53 are exact in a double.
constexpr double kMaxExact = 9007199254740992.0;

// Ways to choose k of n. A double, as choices of large spaces only need their magnitude.
double binomial(int n, int k);

// The `rank`-th choice of k of n in lexicographic order, ascending; and back.
std::vector<int> unrank_choice(int n, int k, int64_t rank);
int64_t rank_choice(int n, const std::vector<int>& chosen);

// Codes of one node of a cell.
class NodeCode {
 public:
  NodeCode(const CellChoices& cell, const NodeChoices& node, const std::vector<std::string>& ops);
  double count() const { return count_; }
  GenotypeNode decode(int64_t code) const;
  // Takes edges in any order.
  int64_t encode(const GenotypeNode& node) const;

 private:
  GenotypeNode decode_pairs(int64_t code) const;
  int64_t encode_pairs(const GenotypeNode& node) const;
  int op_index(const std::string& op) const;
  int input_index(int state) const;

  NodeChoices node_;
  std::vector<std::string> ops_;
  bool ops_on_nodes_, repeat_;
  double count_;
};

}  // namespace nascent
