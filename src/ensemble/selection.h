// Selections: which members of a pool make the ensemble. A new one is a new file that registers a function.
//
//   const Selected found = Selection::Registry::instance().make("forward", SelectionSetup{pool, 3});
#pragma once

#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/ensemble/running_ensemble.h"

namespace nascent {

struct SelectionSetup {
  const SelectionPool& pool;
  int size = 3;   // members wanted
  int beam = 10;  // "beam": ensembles that are kept at every size
};

struct Selected {
  std::vector<size_t> members{};  // of the pool; one that was chosen several times is there as often
  std::vector<double> weights{};  // of the members, summing to 1; empty: all the same
  double loss = 0;                // negative log-likelihood of the combined prediction
  int64_t judged = 0;             // ensembles whose loss was computed
};

struct Selection {
  static std::string kind() { return "selection"; }
  using Registry = nascent::Registry<Selection, Selected(const SelectionSetup&)>;
};

// An Error where the pool is too small for the ensemble.
void require_enough(const SelectionSetup& setup);
Selected select_members(const std::string& name, const SelectionSetup& setup);

}  // namespace nascent
