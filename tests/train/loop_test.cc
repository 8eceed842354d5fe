#include "nascent/train/loop.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Keeps a diary of what the loop asks of it; the diary is its state.
class Diary : public Job {
 public:
  std::string label() const override { return "diary"; }
  int64_t epochs() const override { return 3; }
  int64_t steps() const override { return steps_per_epoch; }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink&) override { position_ = epoch * 100 + first_step; }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    EXPECT_EQ(position_++, epoch * 100 + step) << "start_epoch() told of another step";
    diary += fmt::format("{}.{} ", epoch, step);
    const int64_t done = epoch * steps() + step + 1;
    events.emit({"step", epoch, done, {}});
    if (done == interrupt_after) request_interrupt();
    if (done == interrupted_in) {
      ahead = "found meanwhile";
      throw Interrupted();
    }
    return {.loss = done == bad_loss_at ? std::nan("") : 1.0,
            .gradient_norm = done == bad_gradient_at ? INFINITY : 1.0,
            .note = "",
            .batch = "batch " + std::to_string(step)};
  }
  void end_epoch(int64_t epoch, EventSink& events) override {
    diary += "end ";
    events.emit({"epoch", epoch, (epoch + 1) * steps(), {}});
  }
  bool gather() override {
    ahead += from_others;
    return !from_others.empty();
  }
  void save(State& state, const std::string& prefix) const override {
    state.values[prefix + "diary"] = diary;
    state.values[prefix + "ahead"] = ahead;
  }
  void load(const State& state, const std::string& prefix) override { diary = state.value(prefix + "diary"); }

  std::string diary, ahead, from_others;
  int64_t steps_per_epoch = 4;
  int64_t bad_loss_at = -1, bad_gradient_at = -1, interrupt_after = -1, interrupted_in = -1;

 private:
  int64_t position_ = -1;
};

constexpr const char* kWhole = "0.0 0.1 0.2 0.3 end 1.0 1.1 1.2 1.3 end 2.0 2.1 2.2 2.3 end ";

TEST(RunJob, TakesEveryStepOnce) {
  Diary job;
  toy::Recorder events;
  run_job(job, {.events = &events});
  EXPECT_EQ(job.diary, kWhole);
  EXPECT_EQ(events.of("step").size(), 12);
  EXPECT_EQ(events.of("epoch").size(), 3);
  EXPECT_EQ(events.rewound_to, -1);
}

TEST(RunJob, ResumesAfterEveryStep) {
  for (int64_t stop = 1; stop < 12; ++stop) {
    const toy::Folder folder;
    CheckpointStore store(folder.path());
    toy::Recorder events;
    Diary first;
    EXPECT_THROW(run_job(first, {.checkpoints = &store, .events = &events, .stop_after_steps = stop}), Interrupted);
    Diary second;
    run_job(second, {.checkpoints = &store, .events = &events, .resume = true});
    EXPECT_EQ(second.diary, kWhole) << "stopped after " << stop;
    EXPECT_EQ(events.rewound_to, stop);
    EXPECT_EQ(events.of("step").size(), 12) << "stopped after " << stop;
    EXPECT_EQ(events.of("epoch").size(), 3) << "stopped after " << stop;
  }
}

TEST(RunJob, ResumesFromAnOlderCheckpointAndDropsLaterEvents) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  toy::Recorder events;
  Diary first;
  first.bad_loss_at = 7;  // dies after the checkpoint of step 4
  EXPECT_THROW(run_job(first, {.checkpoints = &store, .events = &events}), Error);
  EXPECT_EQ(events.of("step").size(), 7);
  Diary second;
  run_job(second, {.checkpoints = &store, .events = &events, .resume = true});
  EXPECT_EQ(second.diary, kWhole);
  EXPECT_EQ(events.of("step").size(), 12);
  EXPECT_EQ(events.of("epoch").size(), 3);
}

TEST(RunJob, StopsAtCtrlCWithACheckpoint) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Diary first;
  first.interrupt_after = 6;
  EXPECT_THROW(run_job(first, {.checkpoints = &store}), Interrupted);
  request_interrupt(false);
  EXPECT_EQ(store.newest_path().filename(), "checkpoint-6.nascent");
  Diary second;
  run_job(second, {.checkpoints = &store, .resume = true});
  EXPECT_EQ(second.diary, kWhole);
}

// There is a checkpoint after as many steps already, but more has been found since.
TEST(RunJob, CtrlCKeepsWhatWasFoundSinceTheLastCheckpoint) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Diary in_step;
  in_step.interrupted_in = 6;
  EXPECT_THROW(run_job(in_step, {.checkpoints = &store, .checkpoint_steps = 1}), Interrupted);
  EXPECT_EQ(store.newest_path().filename(), "checkpoint-5.nascent");
  EXPECT_EQ(store.newest()->value("job.ahead"), "found meanwhile");

  const toy::Folder other;
  CheckpointStore after(other.path());
  Diary between;
  between.from_others = "from others";
  EXPECT_THROW(run_job(between, {.checkpoints = &after, .checkpoint_steps = 1, .stop_after_steps = 5}), Interrupted);
  EXPECT_EQ(after.newest_path().filename(), "checkpoint-5.nascent");
  EXPECT_EQ(after.newest()->value("job.ahead"), "from others");
}

TEST(RunJob, CtrlCDuringTheLastStepChangesNothing) {
  Diary job;
  job.interrupt_after = 12;
  EXPECT_NO_THROW(run_job(job, {}));
  request_interrupt(false);
  EXPECT_EQ(job.diary, kWhole);
}

TEST(RunJob, AFinishedJobIsLoadedAndLeftAlone) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Diary first;
  run_job(first, {.checkpoints = &store});
  const std::string bytes = read_file(store.newest_path());
  Diary second;
  run_job(second, {.checkpoints = &store, .resume = true});
  EXPECT_EQ(second.diary, kWhole);
  EXPECT_EQ(read_file(store.newest_path()), bytes);
}

TEST(RunJob, ResumeWithoutCheckpointsStartsAtTheBeginning) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  toy::Recorder events;
  events.emit({"step", 0, 1, {}});
  Diary job;
  run_job(job, {.checkpoints = &store, .events = &events, .resume = true});
  EXPECT_EQ(job.diary, kWhole);
  EXPECT_EQ(events.of("step").size(), 12);
}

TEST(RunJob, DoesNotMixRuns) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Diary first;
  run_job(first, {.checkpoints = &store});
  Diary second;
  EXPECT_THAT([&] { run_job(second, {.checkpoints = &store}); }, ThrowsMessage<Error>(HasSubstr("--resume")));
  second.steps_per_epoch = 5;
  EXPECT_THAT([&] { run_job(second, {.checkpoints = &store, .resume = true}); },
              ThrowsMessage<Error>(HasSubstr("'diary' of 4 steps an epoch; this is a 'diary' of 5")));
}

TEST(RunJob, WritesCheckpointsByStepsAndByTime) {
  const toy::Folder folder;
  CheckpointStore by_steps(folder.path() / "steps"), by_time(folder.path() / "time");
  Diary first;
  first.bad_loss_at = 12;
  EXPECT_THROW(run_job(first, {.checkpoints = &by_steps, .checkpoint_steps = 5}), Error);
  EXPECT_EQ(by_steps.newest_path().filename(), "checkpoint-10.nascent");
  Diary second;
  second.bad_loss_at = 12;
  EXPECT_THROW(run_job(second, {.checkpoints = &by_time, .checkpoint_seconds = 0}), Error);
  EXPECT_EQ(by_time.newest_path().filename(), "checkpoint-11.nascent");
}

TEST(RunJob, ANonFiniteLossNamesStepBatchAndLastGoodCheckpoint) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Diary job;
  job.bad_loss_at = 7;
  EXPECT_THAT(
      [&] { run_job(job, {.checkpoints = &store}); },
      ThrowsMessage<Error>(AllOf(HasSubstr("the loss is nan at epoch 2, step 3 (6 steps into the run), batch 2."),
                                 HasSubstr((folder.path() / "checkpoint-4.nascent").string()))));
  EXPECT_EQ(store.newest_path().filename(), "checkpoint-4.nascent");
}

TEST(RunJob, ANonFiniteGradientStopsToo) {
  Diary job;
  job.bad_gradient_at = 1;
  EXPECT_THAT([&] { run_job(job, {}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("the gradient norm is inf at epoch 1, step 1"),
                                         HasSubstr("No checkpoint has been written"))));
}

TEST(RunJob, AnEpochWithoutStepsIsAnError) {
  Diary job;
  job.steps_per_epoch = 0;
  EXPECT_THROW(run_job(job, {}), Error);
}

}  // namespace
}  // namespace nascent
