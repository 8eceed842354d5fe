// What a program says while it runs: each step emits events, and a sink (the run store, a test) keeps them.
#pragma once

#include <cstdint>
#include <string>

#include "nascent/core/options.h"

namespace nascent {

struct Event {
  std::string kind;   // "step", "epoch", "architecture", ...
  int64_t epoch = 0;  // counted from 0
  int64_t step = 0;   // steps done since the start of the run; a resumed run drops what came after its checkpoint
  Json values;        // flat object of numbers, or what the kind documents
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void emit(const Event& event) = 0;
  // Drops every event with more than `step` steps done: the run goes on from there.
  virtual void rewind(int64_t step) = 0;
  // What was emitted is safe before a checkpoint that builds on it is written.
  virtual void flush() {}
};

}  // namespace nascent
