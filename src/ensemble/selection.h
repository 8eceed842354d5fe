// Selections: which members of a pool make the ensemble. A new one is a new file that registers a function.
//
//   const Selected found = Selection::Registry::instance().make("forward", SelectionSetup{pool, 3});
#pragma once

#include <limits>
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

struct SelectionFacts {
  bool logits = true;                                             // it can average logits
  double most_subsets = std::numeric_limits<double>::infinity();  // of the pool that it can go through
};

struct Selection {
  static std::string kind() { return "selection"; }
  using Registry = nascent::Registry<Selection, Selected(const SelectionSetup&), SelectionFacts>;
};

// An Error where the pool is too small for the ensemble, or where the selection cannot do what is asked.
void check_selection(const std::string& name, size_t pool, int size, Combination how);
Selected select_members(const std::string& name, const SelectionSetup& setup);

}  // namespace nascent
