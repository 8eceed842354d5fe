// What a trained supernet says of single architectures: their accuracy with its shared weights, on the images that the
// search held out. The estimate that one-shot searches go by, to be ranked against the truth.
#pragma once

#include <string>
#include <vector>

#include "nascent/space/genotype.h"

namespace nascent {

// Percent, one per genotype. `run` is the folder of a finished one-shot search in the genotypes' space; an Error says
// what else it is. Throws Interrupted after Ctrl-C.
std::vector<double> shared_estimates(const std::string& run, const std::vector<Genotype>& genotypes);

}  // namespace nascent
