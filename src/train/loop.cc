#include "nascent/train/loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/no_events.h"
#include "nascent/core/progress.h"

namespace nascent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCheckpointVersion = 1;
constexpr const char* kPosition = "loop";
constexpr const char* kJob = "job.";

class Loop {
 public:
  Loop(Job& job, const LoopOptions& options)
      : job_(job),
        options_(options),
        events_(options.events != nullptr ? *options.events : no_events_),
        steps_(job.steps()) {
    if (steps_ <= 0) fail("{}: an epoch has no steps. Lower the batch size or use more data.", job.label());
  }

  void run() {
    take_up();
    if (finished()) return;
    Progress progress(job_.label(), job_.epochs() * steps_, done());
    progress.advise([&](double seconds) { return shorter_way(seconds); });
    written_ = Clock::now();
    while (!finished()) {
      job_.start_epoch(epoch_, step_, events_);
      do {
        progress.advance(1, step());
        stop_if_asked();
      } while (step_ != 0);
    }
  }

 private:
  bool finished() const { return epoch_ >= job_.epochs(); }

  // What --scale would make of so many seconds: time goes with epochs and images, so this much can be promised.
  std::string shorter_way(double seconds) const {
    constexpr double kWanted = 20 * 60;
    if (seconds <= kWanted) return "";
    const double all = static_cast<double>(job_.epochs());
    const double epochs = std::max(1.0, std::floor(all * kWanted / seconds)) / all;
    const double data = std::clamp(kWanted / (epochs * seconds), 0.01, 1.0);
    std::string scale = epochs < 1 ? fmt::format("epochs={:.2g}", epochs) : "";
    if (data < 0.9) scale += fmt::format("{}data={:.1g}", scale.empty() ? "" : ",", data);
    if (scale.empty()) return "";
    return fmt::format("--scale {} would take about {}", scale, duration_text(epochs * data * seconds));
  }

  int64_t done() const { return epoch_ * steps_ + step_; }

  // Where to begin: at the newest checkpoint or at the start.
  void take_up() {
    if (options_.checkpoints == nullptr) return;
    if (!options_.resume) {
      if (options_.checkpoints->empty()) return;
      fail("{} holds checkpoints of another run. Resume it with --resume, or choose another folder.",
           options_.checkpoints->folder().string());
    }
    if (const auto state = options_.checkpoints->newest()) {
      restore(*state);
      log::info("{}: resuming from {}", job_.label(), state->origin());
    }
    events_.rewind(done());
  }

  void restore(const State& state) {
    const Json& position = state.value(kPosition);
    if (const int version = position.value("version", 0); version != kCheckpointVersion) {
      fail("{} was written by version {} of the loop; this one reads version {}. Start the run again.", state.origin(),
           version, kCheckpointVersion);
    }
    const auto label = position.at("job").get<std::string>();
    const auto steps = position.at("steps").get<int64_t>();
    if (label != job_.label() || steps != steps_) {
      fail("{} belongs to a '{}' of {} steps an epoch; this is a '{}' of {}. Resume with the options it began with.",
           state.origin(), label, steps, job_.label(), steps_);
    }
    job_.load(state, kJob);
    epoch_ = position.at("epoch").get<int64_t>();
    step_ = position.at("step").get<int64_t>();
  }

  // Takes one step, with the end of the epoch where it is the last; returns its note.
  std::string step() {
    const StepReport report = take_step();
    check(report);
    ++taken_;
    if (++step_ == steps_) {
      job_.end_epoch(epoch_, events_);
      ++epoch_;
      step_ = 0;
    }
    if (checkpoint_due()) write_checkpoint();
    return report.note;
  }

  // A step that stops half-way on request is taken again, from what was done before it.
  StepReport take_step() {
    try {
      return job_.step(epoch_, step_, events_);
    } catch (const Interrupted&) {
      stop();
    }
  }

  void check(const StepReport& report) const {
    const bool bad_loss = !std::isfinite(report.loss);
    if (!bad_loss && std::isfinite(report.gradient_norm)) return;
    const auto path = options_.checkpoints != nullptr ? options_.checkpoints->newest_path() : std::filesystem::path();
    fail(
        "{}: the {} is {} at epoch {}, step {} ({} steps into the run), {}. {} Lower the learning rate, clip "
        "gradients more, or look at these images.",
        job_.label(), bad_loss ? "loss" : "gradient norm", bad_loss ? report.loss : report.gradient_norm, epoch_ + 1,
        step_ + 1, done(), report.batch.empty() ? "batch not named" : report.batch,
        path.empty() ? "No checkpoint has been written." : "The last good checkpoint is " + path.string() + ".");
  }

  bool checkpoint_due() const {
    if (step_ == 0) return true;
    if (options_.checkpoint_steps > 0 && done() % options_.checkpoint_steps == 0) return true;
    return std::chrono::duration<double>(Clock::now() - written_).count() >= options_.checkpoint_seconds;
  }

  void write_checkpoint() {
    if (options_.checkpoints == nullptr) return;
    State state;
    state.values[kPosition] = {
        {"version", kCheckpointVersion}, {"job", job_.label()}, {"steps", steps_}, {"epoch", epoch_}, {"step", step_}};
    job_.save(state, kJob);
    events_.flush();
    options_.checkpoints->write(done(), state);
    written_ = Clock::now();
  }

  void stop_if_asked() {
    const bool asked = interrupt_requested() || (options_.stop_after_steps > 0 && taken_ >= options_.stop_after_steps);
    if (asked && !finished()) stop();
  }

  // Writes a checkpoint also where the last was after as many steps: more may have been found for those to come. And
  // before it waits for others: a launcher may give little time.
  [[noreturn]] void stop() {
    write_checkpoint();
    if (job_.gather()) write_checkpoint();
    throw Interrupted();
  }

  Job& job_;
  const LoopOptions& options_;
  NoEvents no_events_;
  EventSink& events_;
  const int64_t steps_;
  int64_t epoch_ = 0, step_ = 0;  // of the step to take next
  int64_t taken_ = 0;             // in this process
  Clock::time_point written_;     // when the last checkpoint was written
};

}  // namespace

void run_job(Job& job, const LoopOptions& options) { Loop(job, options).run(); }

}  // namespace nascent
