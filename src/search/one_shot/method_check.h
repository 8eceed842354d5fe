// Do the choices of a weight-sharing search go together? The one place where a combination of axes is judged: what the
// choices need of each other, and that none of the options asked for would be ignored.
//
// Each entry of an axis says in its facts what it needs and which options it reads. An option that only some entries
// read may differ from its default only where one of them is chosen.
#pragma once

#include "nascent/search/one_shot/one_shot_search.h"

namespace nascent {

// An Error names the option that cannot be honoured, says why, and what to choose instead.
void check_method(const OneShotOptions& options, const Space& space);

}  // namespace nascent
