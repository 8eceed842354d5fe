// The published genotypes that come with the program, by name.
#pragma once

#include <optional>
#include <string>

#include "nascent/space/genotype.h"

namespace nascent {

std::optional<Genotype> shipped_genotype(const std::string& name);

}  // namespace nascent
