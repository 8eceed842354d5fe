// A sink that drops everything: for jobs that are run without a run around them.
#pragma once

#include "nascent/core/events.h"

namespace nascent {

struct NoEvents : EventSink {
  void emit(const Event&) override {}
  void rewind(int64_t) override {}
};

}  // namespace nascent
