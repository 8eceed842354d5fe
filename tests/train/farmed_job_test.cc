// In one process; several ranks are in tests/cli/ranks_test.cc.
#include "nascent/train/farmed_job.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/interrupt.h"
#include "train/toy.h"

namespace nascent {
namespace {

// Finds the number of every step, and keeps what it takes up.
class Numbers : public FarmedJob {
 public:
  std::string label() const override { return "numbers"; }
  int64_t epochs() const override { return 2; }
  int64_t steps() const override { return 4; }
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  std::string piece(int64_t epoch, int64_t step) override {
    asked.push_back(epoch * steps() + step);
    return std::to_string(asked.back());
  }
  StepReport take(int64_t, int64_t, const std::string& found, EventSink&) override {
    taken += found + " ";
    return {};
  }
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override { state.values[prefix + "taken"] = taken; }
  void load(const State& state, const std::string& prefix) override { taken = state.value(prefix + "taken"); }

  std::vector<int64_t> asked;
  std::string taken;
};

void run(Numbers& job, const LoopOptions& options) {
  run_farmed(job, {}, [&](Job& all) { run_job(all, options); });
}

TEST(FarmedJob, AloneItTakesItsStepsInTurn) {
  Numbers job;
  run(job, {});
  EXPECT_EQ(job.taken, "0 1 2 3 4 5 6 7 ");
}

TEST(FarmedJob, WhatOthersHadFoundBeforeAStopIsNotDoneAgain) {
  const toy::Folder folder;
  CheckpointStore store(folder.path());
  Numbers stopped;
  EXPECT_THROW(run(stopped, {.checkpoints = &store, .stop_after_steps = 3}), Interrupted);
  State state = *store.newest();
  for (const int64_t number : {4, 6}) {
    state.put(fmt::format("job.ahead.{}", number), at::full({2}, static_cast<int64_t>('a'), at::kByte));
  }
  store.write(4, state);
  Numbers resumed;
  run(resumed, {.checkpoints = &store, .resume = true});
  EXPECT_EQ(resumed.taken, "0 1 2 3 aa 5 aa 7 ");
  EXPECT_EQ(resumed.asked, (std::vector<int64_t>{3, 5, 7}));
  EXPECT_THAT(store.newest()->serialise(), testing::Not(testing::HasSubstr("ahead"))) << "all have had their turn";
}

}  // namespace
}  // namespace nascent
