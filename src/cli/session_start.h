// How a run that was asked for on the command line starts.
#pragma once

#include "nascent/cli/verb.h"
#include "nascent/train/session.h"

namespace nascent {

inline SessionStart session_start(const Invocation& invocation) {
  return {.verb = invocation.verb,
          .command = invocation.command_line,
          .recipe = invocation.recipe,
          .resume = invocation.resume};
}

}  // namespace nascent
