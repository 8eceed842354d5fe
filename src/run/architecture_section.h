// The report's architecture weights: how much of each operation every edge held, epoch by epoch, from events
//
//   kind "architecture", values {"ops": [name...],
//                                "cells": {TYPE: {"probabilities": [[one per op] per site], "entropy": [one per site],
//                                                 "sites": [name per site, optional]}}}
#pragma once

#include <string>
#include <vector>

#include "nascent/core/events.h"

namespace nascent {

// `space` names the edges ("0→2") where the events do not; "" or an unknown one leaves them numbered.
std::string architecture_section(const std::vector<Event>& events, const std::string& space);

}  // namespace nascent
