// How an architecture is judged while searching: by a benchmark's table, or by training it.
#pragma once

#include "nascent/space/genotype.h"
#include "nascent/table/measure.h"

namespace nascent {

struct Validated {
  double accuracy = 0;  // on held-out data, %
  double seconds = 0;   // what it cost
};

class Validation {
 public:
  virtual ~Validation() = default;
  // Trains for the budget and validates, or looks up what came of it.
  virtual Validated validate(const Genotype& genotype, const Budget& budget) = 0;
};

}  // namespace nascent
