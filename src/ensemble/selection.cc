#include "nascent/ensemble/selection.h"

#include "nascent/core/error.h"

namespace nascent {

void require_enough(const SelectionSetup& setup) {
  if (setup.size < 1) fail("An ensemble of {} members was asked for; it needs at least 1.", setup.size);
  if (static_cast<size_t>(setup.size) > setup.pool.size()) {
    fail(
        "An ensemble of {} members was asked for, but the pool has only {}; make the pool larger or the ensemble "
        "smaller (--members).",
        setup.size, setup.pool.size());
  }
}

Selected select_members(const std::string& name, const SelectionSetup& setup) {
  require_enough(setup);
  return Selection::Registry::instance().make(name, setup);
}

}  // namespace nascent
