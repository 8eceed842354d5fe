// Which candidates of an edge or node run: read from the plan, by modules and by the engine's translation alike.
#pragma once

#include <vector>

#include "nascent/space/stage.h"

namespace nascent {

// True where the result is zero whatever the input.
bool is_zero(const Stages& stages);

// True where at least one candidate is neither the identity nor zero: dropping a path means something.
bool can_drop(const std::vector<Stages>& candidates);

// `active` is that of a CellMixture: per site the candidates that run, empty: all. Those that are zero are left out.
std::vector<int> running_candidates(const std::vector<Stages>& candidates, int site,
                                    const std::vector<std::vector<int>>& active);

// True where there is nothing to run at this site: it is then not there at all, and what would pass it by does not flow
// either.
bool is_idle(int site, const std::vector<std::vector<int>>& active);

}  // namespace nascent
