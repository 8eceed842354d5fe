// Whether a plan can be built and run: every index and every size of it. Plans that are made and plans that are read
// from a file pass through the same check.
#pragma once

#include "nascent/space/plan.h"

namespace nascent {

// An Error that says where in the network something does not fit.
void check_plan(const NetworkPlan& plan);

}  // namespace nascent
