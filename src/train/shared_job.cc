#include "nascent/train/shared_job.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <vector>

#include "nascent/cluster/ranks.h"
#include "nascent/core/log.h"
#include "nascent/core/no_events.h"

namespace nascent {
namespace {

// An order is a letter and what belongs to it.
constexpr char kState = 's', kEpoch = 'e', kStep = 't';

std::string order(char what, int64_t epoch, int64_t step) { return fmt::format("{}{} {}", what, epoch, step); }

// The job on rank 0: tells the others, where there are any, of everything that they must do too, and takes the time.
class LedJob : public Job {
 public:
  LedJob(Job& job, cluster::Team* team) : job_(job), team_(team) {}

  std::string label() const override { return job_.label(); }
  int64_t epochs() const override { return job_.epochs(); }
  int64_t steps() const override { return job_.steps(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override {
    if (team_ != nullptr) {
      if (!std::exchange(told_, true)) tell_state();
      team_->order(order(kEpoch, epoch, first_step));
    }
    job_.start_epoch(epoch, first_step, events);
  }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    if (team_ != nullptr) team_->order(order(kStep, epoch, step));
    const auto start = std::chrono::steady_clock::now();
    StepReport report = job_.step(epoch, step, events);
    seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return report;
  }
  void end_epoch(int64_t epoch, EventSink& events) override { job_.end_epoch(epoch, events); }
  void save(State& state, const std::string& prefix) const override { job_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { job_.load(state, prefix); }

  void report() {
    if (seconds_.empty()) return;
    const auto steps = static_cast<double>(seconds_.size());
    const double all = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
    const auto middle = seconds_.begin() + std::ssize(seconds_) / 2;
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    if (team_ == nullptr) return log::debug("One process: {:.1f} ms a step", 1e3 * *middle);
    log::info("{} ranks: {:.1f} ms a step, {:.1f} % of it communication; rank 0 sends {:.0f} bytes a step",
              team_->size(), 1e3 * *middle, 100 * team_->cost().seconds / all,
              static_cast<double>(team_->cost().bytes) / steps);
  }

 private:
  // Where the job stands: at its start, or where it was taken up.
  void tell_state() {
    State state;
    job_.save(state, "");
    team_->order(kState + state.serialise());
  }

  Job& job_;
  cluster::Team* team_;  // null: this process is alone
  bool told_ = false;
  std::vector<double> seconds_;  // of every step
};

}  // namespace

void run_shared(SharedJob& job, Job& outer, const TeamOpening& opening, bool alone,
                const std::function<void(Job&)>& run) {
  std::optional<cluster::Team> team;
  if (!alone && cluster::size() > 1) {
    team.emplace(opening.companion, opening.opening, opening.digest, opening.log);
    job.join(*team);
  }
  LedJob led(outer, team ? &*team : nullptr);
  run(led);
  led.report();
}

void follow(SharedJob& job, cluster::Team& team) {
  job.join(team);
  NoEvents none;
  while (true) {
    const std::string order = team.hear();
    const std::string_view rest = std::string_view(order).substr(1);
    if (order[0] == kState) {
      job.load(State::parse(rest, "the state of rank 0"), "");
      continue;
    }
    const int64_t epoch = std::stoll(order.substr(1)), step = std::stoll(order.substr(order.find(' ')));
    order[0] == kEpoch ? job.start_epoch(epoch, step, none) : (void)job.step(epoch, step, none);
  }
}

}  // namespace nascent
