// Plans as JSON, so that a saved model can be built again without the space (which may be a user's TOML file) that its
// plan came from.
#pragma once

#include "nascent/core/options.h"
#include "nascent/space/plan.h"

namespace nascent {

Json to_json(const NetworkPlan& plan);
// Throws Json::exception where something is missing or of another type, an Error where a kind of stage is unknown or
// check_plan() finds fault.
NetworkPlan plan_from_json(const Json& json);

}  // namespace nascent
