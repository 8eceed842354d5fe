// An architecture as a list of independent choices, for strategies that learn about each of them.
//
//   Encoding encoding(find_space("nasbench201"));
//   encoding.sizes();                      // 5, 5, 5, 5, 5, 5: an operation for each of six edges
//   encoding.decode({0, 1, 2, 3, 4, 0});
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nascent/space/space.h"

namespace nascent {

using Choices = std::vector<int>;

class Encoding {
 public:
  explicit Encoding(std::shared_ptr<const Space> space);

  // How many options each choice has; all have at least two.
  const std::vector<int>& sizes() const { return sizes_; }
  // Nothing where the choices do not go together (NAS-Bench-101: too many edges, or no path to the output).
  std::optional<Genotype> decode(const Choices& choices) const;
  Choices encode(const Genotype& genotype) const;
  // An architecture drawn from the space.
  Choices sample(RandomStream& random) const { return encode(space_->sample(random)); }
  // Every architecture that differs in one choice.
  std::vector<Choices> neighbours(const Choices& choices) const;

 private:
  class Walk;
  bool is_matrix() const;
  void walk(Walk& walk, Genotype& genotype) const;
  std::optional<Genotype> decode_matrix(const Choices& choices) const;
  Choices encode_matrix(const Genotype& genotype) const;

  std::shared_ptr<const Space> space_;
  std::vector<int> sizes_;
};

}  // namespace nascent
