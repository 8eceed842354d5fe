#include "nascent/cluster/farm.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "nascent/cluster/member.h"
#include "nascent/cluster/opening.h"
#include "nascent/cluster/ranks.h"
#include "nascent/cluster/team.h"
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"

namespace nascent::cluster {
namespace {

// What a rank says of a piece: its number, "done" or "failed", and the result or the error's text.
enum class Outcome : char { done = 'd', refused = 'r', failed = 'f' };

std::string outcome_text(int64_t piece, Outcome outcome, const std::string& text) {
  std::string bytes(reinterpret_cast<const char*>(&piece), sizeof(piece));
  bytes += static_cast<char>(outcome);
  return bytes + text;
}

}  // namespace

std::optional<Work> Pieces::find(int64_t piece) {
  std::unique_lock lock(mutex_);
  if (piece >= list_.size()) changed_.wait_for(lock, std::chrono::milliseconds(50));  // an interrupt wakes nobody
  if (piece >= list_.size()) return std::nullopt;
  return list_.at(piece);
}

void Pieces::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void Pieces::work_alone(Helper& helper, std::optional<int64_t>& taken, const Enough& enough) {
  while (!closed() && !interrupt_requested() && !enough()) {
    if (!taken) taken = take_number();
    const auto what = find(*taken);
    if (!what) continue;
    try {
      deliver(*taken, helper.piece(*what));
      taken.reset();
    } catch (const Interrupted&) {
      return;
    } catch (...) {
      return fail(std::current_exception());
    }
  }
}

void Pieces::work(Helper& helper, int threads) {
  const auto alone = [&] {
    std::optional<int64_t> taken;
    work_alone(helper, taken, [] { return false; });
  };
  if (threads <= 1) return alone();
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      helper.start_thread();
      alone();
    });
  }
  for (auto& thread : team) thread.join();
}

Farm::Farm(std::string helper, Json opening, Helper& mine, Arrived arrived, std::string log, bool alone)
    : name_(std::move(helper)),
      opening_(std::move(opening)),
      mine_(mine),
      arrived_(std::move(arrived)),
      log_(std::move(log)),
      member_(alone ? nullptr : Member::instance()) {}

Farm::~Farm() {
  if (!receiver_.joinable()) return;
  stop();
  receiver_.join();
}

void Farm::add(const Work& work) {
  const std::lock_guard lock(arriving_);
  {
    const std::lock_guard listing(mutex_);
    list_.add(work);
  }
  changed_.notify_all();
  if (running_ && member_ != nullptr) tell_pieces();
}

void Farm::tell_pieces() {
  member_->send_all(kPieces, list_.packed(sent_));
  sent_ = list_.size();
}

int64_t Farm::take_number() {
  if (member_ != nullptr) return member_->fetch_and_add(1) - base_;
  const std::lock_guard lock(mutex_);
  return next_++;
}

void Farm::deliver(int64_t piece, std::string result) {
  const std::lock_guard lock(arriving_);
  arrived_(piece, result);
  if (++done_ == list_.size()) close_all();
  changed_.notify_all();
}

// The first error ends all: others stop as after Ctrl-C, as what they do is of no use any more.
void Farm::fail(std::exception_ptr error) {
  const std::lock_guard lock(arriving_);
  if (error_ == nullptr) error_ = std::move(error);
  if (member_ != nullptr) member_->stop_all();
  close_all();
}

void Farm::close_all() {
  if (closed()) return;
  close();
  if (member_ != nullptr) member_->send_all(kClose);
}

void Farm::open() {
  base_ = member_->fetch_and_add(0);
  open_on_all(*member_, {{"helper", name_}, {"opening", opening_}, {"base", base_}, {"log", log_}}, mine_.digest());
  tell_pieces();
  running_ = true;
}

// Results of the others, until all of them have closed.
void Farm::receive() {
  for (int open = member_->size() - 1; open > 0;) {
    const Message message = member_->wait({kResult, kClosed});
    if (message.kind == kClosed) {
      --open;
      continue;
    }
    int64_t piece = 0;
    std::memcpy(&piece, message.bytes.data(), sizeof(piece));
    const auto outcome = static_cast<Outcome>(message.bytes.at(sizeof(piece)));
    std::string text = message.bytes.substr(sizeof(piece) + 1);
    if (outcome == Outcome::done) {
      deliver(piece, std::move(text));
    } else if (outcome == Outcome::refused) {
      fail(std::make_exception_ptr(Error(text)));
    } else {
      fail(std::make_exception_ptr(std::runtime_error(text)));
    }
  }
}

void Farm::begin() {
  if (member_ == nullptr) return;
  try {
    open();
  } catch (...) {
    close_all();
    throw;
  }
  receiver_ = std::thread([this] {
    try {
      receive();
    } catch (...) {
      fail(std::current_exception());  // `arrived` refused something, or a rank has left
    }
  });
}

void Farm::work_until(const Enough& enough) {
  work_alone(mine_, taken_, enough);
  if (!enough()) end();
}

// Stopped before all was done: the others must hear that no more comes.
void Farm::stop() {
  const std::lock_guard lock(arriving_);
  if (closed()) return;
  if (member_ != nullptr) member_->stop_all();
  close_all();
}

void Farm::end() {
  stop();
  if (receiver_.joinable()) receiver_.join();
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (done_ < list_.size()) throw Interrupted();
}

void Farm::run(int threads) {
  if (list_.size() == 0) return;
  begin();
  work(mine_, threads);
  end();
}

namespace {

// The pieces of a farm as a rank other than 0 sees them.
class Help : public Pieces {
 public:
  Help(Member& member, int64_t base) : member_(member), base_(base) {}

  void run(Helper& helper, int threads) {
    std::thread receiver([this] {
      while (true) {
        const Message message = member_.wait({kPieces, kClose});
        if (message.kind == kClose) return close();
        add(message.bytes);
      }
    });
    work(helper, threads);
    receiver.join();
    log::info("{} pieces of work done.", done_);
    member_.send(0, kClosed);
  }

 private:
  void add(const std::string& pieces) {
    {
      const std::lock_guard lock(mutex_);
      list_.add_packed(pieces);
    }
    changed_.notify_all();
  }

  int64_t take_number() override { return member_.fetch_and_add(1) - base_; }

  void deliver(int64_t piece, std::string result) override {
    member_.send(0, kResult, outcome_text(piece, Outcome::done, result));
    const std::lock_guard lock(mutex_);
    ++done_;
  }

  void fail(std::exception_ptr error) override {
    try {
      std::rethrow_exception(std::move(error));
    } catch (const Error& refused) {
      tell(Outcome::refused, refused.what());
    } catch (const std::exception& failed) {
      tell(Outcome::failed, failed.what());
    }
  }

  void tell(Outcome outcome, const std::string& text) {
    log::error("{}", text);
    member_.send(0, kResult, outcome_text(-1, outcome, told_by(member_.rank(), host_name(), text)));
  }

  Member& member_;
  int64_t base_, done_ = 0;
};

void help(Member& member, const Json& order) {
  std::unique_ptr<Helper> helper;
  const bool ready = answer_opening(member, [&] {
    helper = Helper::Registry::instance().make(order.at("helper").get<std::string>(), order.at("opening"));
    return helper->digest();
  });
  if (!ready) return;
  const int threads = order.at("opening").value("threads", 1);
  Help(member, order.at("base").get<int64_t>()).run(*helper, threads == 0 ? usual_threads() : threads);
}

}  // namespace

void serve() {
  Member& member = *Member::instance();
  while (true) {
    const Message message = member.wait({kOpen, kRelease});
    if (message.kind == kRelease) return;
    const Json order = Json::parse(message.bytes);
    log_beside(order.at("log").get<std::string>(), member.rank());
    const std::string what = order.contains("companion") ? "companion" : "helper";
    log::info("Rank {} of {} on {}, process {}: {}", member.rank(), member.size(), host_name(), ::getpid(),
              order.at(what).get<std::string>());
    order.contains("companion") ? join_team(member, order) : help(member, order);
  }
}

}  // namespace nascent::cluster
