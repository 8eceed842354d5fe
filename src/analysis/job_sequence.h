// Jobs one after the other as one job: a run with one progress bar, one set of checkpoints and one resume.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nascent/train/farmed_job.h"

namespace nascent {

// Each job is of one epoch. One that is over is kept in checkpoints with its result. Steps of farmed jobs are farmed.
class JobSequence : public FarmedJob {
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
  bool stands_alone(int64_t epoch, int64_t step) const override {
    const auto [job, own] = find(step);
    const auto* farmed = dynamic_cast<const FarmedJob*>(job);
    return farmed != nullptr && farmed->stands_alone(epoch, own);
  }
  std::string piece(int64_t epoch, int64_t step) override {
    const auto [job, own] = find(step);
    return dynamic_cast<FarmedJob&>(*job).piece(epoch, own);
  }
  StepReport take(int64_t epoch, int64_t step, const std::string& found, EventSink& events) override {
    const auto [job, own] = find(step);
    return ended(*job, epoch, own, events, dynamic_cast<FarmedJob&>(*job).take(epoch, own, found, events));
  }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    const auto [job, own] = find(step);
    return ended(*job, epoch, own, events, job->step(epoch, own, events));
  }
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override {
    for (size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->save(state, fmt::format("{}{}.", prefix, i));
  }
  void load(const State& state, const std::string& prefix) override {
    for (size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->load(state, fmt::format("{}{}.", prefix, i));
  }

 private:
  // The job that a step belongs to, and which of its steps it is.
  std::pair<Job*, int64_t> find(int64_t step) const {
    auto job = jobs_.begin();
    for (; step >= (*job)->steps(); ++job) step -= (*job)->steps();
    return {job->get(), step};
  }
  // After a step of a job: its end, where that was the last.
  static StepReport ended(Job& job, int64_t epoch, int64_t step, EventSink& events, StepReport report) {
    if (step + 1 == job.steps()) job.end_epoch(epoch, events);
    return report;
  }

  std::string label_;
  std::vector<std::shared_ptr<Job>> jobs_;
};

}  // namespace nascent
