// One name for an architecture however it was written down, and a short code to store it by. Tables of spaces that are
// too large to be numbered know their rows by these (docs/formats.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nascent/core/hash.h"
#include "nascent/space/space.h"

namespace nascent {

// Whether Space::index_of() and at() are defined.
bool can_be_numbered(const Space& space);

// The same architecture with its cells ordered by type, the edges of a node by input and operation, the output's states
// ascending. Nodes keep their places: isomorphic cells stay different.
Genotype canonical(Genotype genotype);

// The canonical genotype as text, without the name of its space:
// "normal 2:sep_conv_3x3~0,skip_connect~1|...>2,3,4,5;reduce ...".
std::string canonical_text(const Genotype& genotype);
// hash128() of that text.
Hash128 genotype_hash(const Genotype& genotype);

// Genotypes as few bytes, by the places of their words in lists that are kept beside them.
class GenotypeCode {
 public:
  GenotypeCode(std::string space, std::vector<std::string> types, std::vector<std::string> ops)
      : space_(std::move(space)), types_(std::move(types)), ops_(std::move(ops)) {}
  // With the space's types of cells and all its operations.
  static GenotypeCode of(const Space& space);

  const std::vector<std::string>& types() const { return types_; }
  const std::vector<std::string>& ops() const { return ops_; }
  // The canonical genotype's; nothing where it has other words.
  std::optional<std::string> encode(const Genotype& genotype) const;
  // The canonical genotype with its cells in the order of types(), or nothing where no genotype has this code.
  std::optional<Genotype> decode(std::string_view code) const;

 private:
  std::string space_;
  std::vector<std::string> types_, ops_;
};

}  // namespace nascent
