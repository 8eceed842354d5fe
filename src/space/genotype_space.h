// The space of a genotype that was asked for by name.
#pragma once

#include <memory>
#include <string>

#include "nascent/space/space.h"

namespace nascent {

// The space of the genotype that find_genotype() knows as `genotype`: `space` where one is given, the copy that a
// search in a space of the user's own keeps in its folder, and otherwise the one that the genotype names.
std::shared_ptr<const Space> space_of_genotype(const std::string& genotype, const std::string& space = "");

}  // namespace nascent
