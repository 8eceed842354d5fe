// Who does what the command line asks for, where a launcher started several processes.
#pragma once

#include "nascent/cli/verb.h"

namespace nascent {

// True on the rank that runs the verb. The others return when they have helped it. An Error where the verb works in one
// process, or where the ranks were not asked for the same.
bool leads(const Verb& verb, const Invocation& invocation);

}  // namespace nascent
