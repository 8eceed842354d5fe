// The search space that a run is about.
#pragma once

#include <optional>
#include <string>

#include "nascent/run/run_directory.h"

namespace nascent {

// The genotype's, or that of an option called "space"; "" where there is neither.
std::string run_space(const RunDirectory& run, const std::optional<Genotype>& genotype);

}  // namespace nascent
