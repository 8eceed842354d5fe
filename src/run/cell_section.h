// The report's genotype: the cells drawn by graphviz, and every text form to copy.
#pragma once

#include <string>

#include "nascent/space/genotype.h"

namespace nascent {

std::string cell_section(const Genotype& genotype);
// The cells alone.
std::string cell_drawing(const Genotype& genotype);

}  // namespace nascent
