#include "nascent/ensemble/selection.h"

#include "nascent/core/error.h"
#include "nascent/space/choice_code.h"

namespace nascent {

void check_selection(const std::string& name, size_t pool, int size, Combination how) {
  const SelectionFacts& facts = Selection::Registry::instance().at(name).facts;
  if (size < 1) fail("An ensemble of {} members was asked for; it needs at least 1.", size);
  if (static_cast<size_t>(size) > pool) {
    fail(
        "An ensemble of {} members was asked for, but the pool has only {}; make the pool larger or the ensemble "
        "smaller (--members).",
        size, pool);
  }
  if (!facts.logits && how == Combination::logits)
    fail("--selection {} weighs probabilities; use --combine probabilities, or another selection.", name);
  if (const double subsets = binomial(static_cast<int>(pool), size); subsets > facts.most_subsets) {
    fail(
        "There are {:.3g} ensembles of {} members in a pool of {}, too many for --selection {} (at most {:.0g}); use "
        "--selection forward or beam.",
        subsets, size, pool, name, facts.most_subsets);
  }
}

Selected select_members(const std::string& name, const SelectionSetup& setup) {
  check_selection(name, setup.pool.size(), setup.size, setup.pool.how());
  return Selection::Registry::instance().make(name, setup);
}

}  // namespace nascent
