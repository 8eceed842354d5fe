// Other places that genotypes are found in by name, besides those that the space room knows itself: rooms above add
// theirs, as the table room does ("nb201.table#1462").
#pragma once

#include <optional>
#include <string>

#include "nascent/core/registry.h"
#include "nascent/space/genotype.h"

namespace nascent {

struct GenotypeSource {
  static std::string kind() { return "source of genotypes"; }
  // Nothing where the name is not of this kind; an Error where it is, and names nothing that is there.
  using Registry = nascent::Registry<GenotypeSource, std::optional<Genotype>(const std::string& name)>;
};

}  // namespace nascent
