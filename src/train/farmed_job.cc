#include "nascent/train/farmed_job.h"

#include <ATen/ops/from_blob.h>

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "nascent/cluster/ranks.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"

namespace nascent {
namespace {

constexpr const char* kAhead = "ahead.";

class StepsHelper : public cluster::Helper {
 public:
  StepsHelper(std::shared_ptr<FarmedJob> job, std::string digest) : job_(std::move(job)), digest_(std::move(digest)) {}

  std::string digest() const override { return digest_; }
  std::string piece(const cluster::Work& work) override {
    return job_->piece(work.number / job_->steps(), work.number % job_->steps());
  }

 private:
  std::shared_ptr<FarmedJob> job_;
  std::string digest_;
};

at::Tensor bytes_of(const std::string& text) {
  return at::from_blob(const_cast<char*>(text.data()), {std::ssize(text)}, at::kByte);  // to be read only
}

std::string text_of(const at::Tensor& bytes) { return {static_cast<const char*>(bytes.data_ptr()), bytes.nbytes()}; }

// The job on rank 0. What others have found before its turn waits, in checkpoints too: it is not done again.
class SpreadJob : public Job {
 public:
  SpreadJob(FarmedJob& job, const FarmOpening& opening)
      : job_(job), opening_(opening), mine_({&job, [](FarmedJob*) {}}, opening.digest) {}

  std::string label() const override { return job_.label(); }
  int64_t epochs() const override { return job_.epochs(); }
  int64_t steps() const override { return job_.steps(); }
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override {
    job_.start_epoch(epoch, first_step, events);
    if (cluster::size() > 1 && !farm_) open_farm(epoch * steps() + first_step);
  }
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    const int64_t number = epoch * steps() + step;
    if (farm_ && job_.stands_alone(epoch, step)) farm_->work_until([&] { return is_ahead(number); });
    if (!is_ahead(number)) return job_.step(epoch, step, events);
    StepReport report = job_.take(epoch, step, ahead(number), events);
    const std::lock_guard lock(mutex_);
    ahead_.erase(number);
    return report;
  }
  void end_epoch(int64_t epoch, EventSink& events) override { job_.end_epoch(epoch, events); }
  // Other ranks finish what they are doing.
  bool gather() override {
    if (!farm_ || numbers_.empty()) return false;
    const size_t before = count_ahead();
    try {
      farm_->end();
    } catch (const Interrupted&) {  // as was asked for
    } catch (const std::exception& error) {
      log::warning("{}", error.what());  // whoever resumes the run meets it again
    }
    return count_ahead() > before;
  }
  void save(State& state, const std::string& prefix) const override {
    job_.save(state, prefix);
    const std::lock_guard lock(mutex_);
    for (const auto& [number, found] : ahead_) state.put(prefix + kAhead + std::to_string(number), bytes_of(found));
  }
  void load(const State& state, const std::string& prefix) override {
    job_.load(state, prefix);
    for (const auto& [name, bytes] : state.tensors()) {
      if (!name.starts_with(prefix + kAhead)) continue;
      ahead_[std::stoll(name.substr(prefix.size() + std::string_view(kAhead).size()))] = text_of(bytes);
    }
  }

 private:
  void open_farm(int64_t first) {
    farm_.emplace(
        opening_.helper, opening_.opening, mine_,
        [this](int64_t piece, const std::string& found) {
          const std::lock_guard lock(mutex_);
          ahead_[numbers_[static_cast<size_t>(piece)]] = found;
        },
        opening_.log);
    for (int64_t number = first; number < epochs() * steps(); ++number) {
      if (is_ahead(number) || !job_.stands_alone(number / steps(), number % steps())) continue;
      numbers_.push_back(number);
      farm_->add({.number = number});
    }
    if (!numbers_.empty()) farm_->begin();
  }

  bool is_ahead(int64_t number) const {
    const std::lock_guard lock(mutex_);
    return ahead_.contains(number);
  }
  size_t count_ahead() const {
    const std::lock_guard lock(mutex_);
    return ahead_.size();
  }
  const std::string& ahead(int64_t number) const {
    const std::lock_guard lock(mutex_);
    return ahead_.at(number);
  }

  FarmedJob& job_;
  const FarmOpening& opening_;
  StepsHelper mine_;
  mutable std::mutex mutex_;              // of `ahead_`, to which other ranks add
  std::map<int64_t, std::string> ahead_;  // what was found before its turn, by step
  std::vector<int64_t> numbers_;          // steps by piece
  std::optional<cluster::Farm> farm_;     // nothing where this process is alone
};

}  // namespace

void check_ranks_for(const FarmedJob& job, const std::string& steps) {
  cluster::require_work(job.epochs() * job.steps(), steps);
}

void run_farmed(FarmedJob& job, const FarmOpening& opening, const std::function<void(Job&)>& run) {
  SpreadJob spread(job, opening);
  run(spread);
}

std::unique_ptr<cluster::Helper> helper_at(std::shared_ptr<FarmedJob> job, std::string digest) {
  return std::make_unique<StepsHelper>(std::move(job), std::move(digest));
}

}  // namespace nascent
