// What every analysis that is a run says last.
#pragma once

#include "nascent/cli/verb.h"
#include "nascent/train/session.h"

namespace nascent {

// Prints where the report is, and adds the run's folder to the result.
inline Json name_report(const Invocation& invocation, const Session& session, Json result) {
  invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
  result["directory"] = session.directory().path().string();
  return result;
}

}  // namespace nascent
