// Jobs one after the other as one job: a run with one progress bar, one set of checkpoints and one resume.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/train/loop.h"

namespace nascent {

// Each job is of one epoch. One that is over is kept in checkpoints with its result.
class JobSequence : public Job {
 public:
  JobSequence(std::string label, std::vector<std::shared_ptr<Job>> jobs)
      : label_(std::move(label)), jobs_(std::move(jobs)) {}

  std::string label() const override { return label_; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override {
    int64_t sum = 0;
    for (const auto& job : jobs_) sum += job->steps();
    return sum;
  }
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    for (const auto& job : jobs_) {
      if (step < job->steps()) {
        const StepReport report = job->step(epoch, step, events);
        if (step + 1 == job->steps()) job->end_epoch(epoch, events);
        return report;
      }
      step -= job->steps();
    }
    return {};
  }
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override {
    for (size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->save(state, fmt::format("{}{}.", prefix, i));
  }
  void load(const State& state, const std::string& prefix) override {
    for (size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->load(state, fmt::format("{}{}.", prefix, i));
  }

 private:
  std::string label_;
  std::vector<std::shared_ptr<Job>> jobs_;
};

}  // namespace nascent
