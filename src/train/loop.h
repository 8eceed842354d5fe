// The one loop of every program: steps and epochs, progress, checkpoints, resume, Ctrl-C, and a stop at a non-finite
// loss.
//
//   run_job(job, {.checkpoints = &store, .events = &events});
//
// A job resumed from any checkpoint ends in the same bytes as one that was never stopped.
#pragma once

#include <cstdint>
#include <string>

#include "nascent/core/events.h"
#include "nascent/train/checkpoints.h"
#include "nascent/train/state.h"

namespace nascent {

struct StepReport {
  double loss = 0;           // checked: one that is not finite stops the run
  double gradient_norm = 0;  // likewise; a job leaves its weights alone in such a step
  std::string note{};        // for the progress bar
  std::string batch{};       // names the batch in an error ("batch 12: images 5, 812, ...")
};

// Something made of epochs of steps. save/load cover everything that changes from step to step.
class Job : public Stateful {
 public:
  virtual std::string label() const = 0;  // "train", "search"
  virtual int64_t epochs() const = 0;
  virtual int64_t steps() const = 0;  // per epoch
  // Called before the first step of an epoch, and after a resume with the step to go on from. Both can happen to one
  // epoch, so what is emitted or changed here must not mind being repeated.
  virtual void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) = 0;
  virtual StepReport step(int64_t epoch, int64_t step, EventSink& events) = 0;
  // Belongs to the epoch's last step: no checkpoint is written and no run stopped between the two.
  virtual void end_epoch(int64_t epoch, EventSink& events) = 0;
  // Called where the run is to stop: takes in what others have under way for it. Whether there was something, which
  // then belongs into the checkpoint.
  virtual bool gather() { return false; }
};

struct LoopOptions {
  CheckpointStore* checkpoints = nullptr;  // null: none are written
  EventSink* events = nullptr;             // null: events are dropped
  bool resume = false;           // start from the newest checkpoint, if there is one; otherwise the store must be empty
  int64_t checkpoint_steps = 0;  // besides every epoch's end, a checkpoint after this many steps; 0: only by time
  double checkpoint_seconds = 60;  // besides every epoch's end, a checkpoint when the last is this old
  int64_t stop_after_steps = 0;    // for tests: as if Ctrl-C came after so many steps in this process; 0: never
};

// Throws Interrupted after Ctrl-C, a checkpoint written. A finished job that is resumed is loaded and left at that.
void run_job(Job& job, const LoopOptions& options);

}  // namespace nascent
