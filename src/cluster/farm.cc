#include "nascent/cluster/farm.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "nascent/cluster/member.h"
#include "nascent/cluster/opening.h"
#include "nascent/cluster/ranks.h"
#include "nascent/cluster/team.h"
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"

namespace nascent::cluster {
namespace {

// Texts in one message: their lengths, each followed by the text.
std::string packed(const std::vector<std::string>& texts, size_t first) {
  std::string bytes;
  for (size_t i = first; i < texts.size(); ++i) {
    const uint64_t length = texts[i].size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += texts[i];
  }
  return bytes;
}

std::vector<std::string> unpacked(const std::string& bytes) {
  std::vector<std::string> texts;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size();) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    at += sizeof(length);
    texts.push_back(bytes.substr(at, length));
    at += length;
  }
  return texts;
}

// What a rank says of a piece: its number, "done" or "failed", and the result or the error's text.
enum class Outcome : char { done = 'd', refused = 'r', failed = 'f' };

std::string outcome_text(int64_t piece, Outcome outcome, const std::string& text) {
  std::string bytes(reinterpret_cast<const char*>(&piece), sizeof(piece));
  bytes += static_cast<char>(outcome);
  return bytes + text;
}

}  // namespace

std::optional<std::string> Pieces::description(int64_t piece) {
  std::unique_lock lock(mutex_);
  const auto place = static_cast<size_t>(piece);
  while (!closed_ && !interrupt_requested() && place >= descriptions_.size()) {
    changed_.wait_for(lock, std::chrono::milliseconds(50));  // an interrupt wakes nobody
  }
  if (closed_ || interrupt_requested() || place >= descriptions_.size()) return std::nullopt;
  return descriptions_[place];
}

void Pieces::add_descriptions(std::vector<std::string> more) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& one : more) descriptions_.push_back(std::move(one));
  }
  changed_.notify_all();
}

void Pieces::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void Pieces::work_alone(Helper& helper) {
  while (!interrupt_requested()) {
    const int64_t piece = take_number();
    const auto what = description(piece);
    if (!what) return;
    try {
      deliver(piece, helper.piece(*what));
    } catch (const Interrupted&) {
      return;
    } catch (...) {
      return fail(std::current_exception());
    }
  }
}

void Pieces::work(Helper& helper, int threads) {
  if (threads <= 1) return work_alone(helper);
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      helper.start_thread();
      work_alone(helper);
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

void Farm::add(std::string description) {
  const std::lock_guard lock(arriving_);
  add_descriptions({std::move(description)});
  if (!running_ || member_ == nullptr) return;
  member_->send_all(kPieces, packed(descriptions_, sent_));
  sent_ = descriptions_.size();
}

int64_t Farm::take_number() {
  if (member_ != nullptr) return member_->fetch_and_add(1) - base_;
  const std::lock_guard lock(mutex_);
  return next_++;
}

void Farm::deliver(int64_t piece, std::string result) {
  const std::lock_guard lock(arriving_);
  arrived_(piece, result);
  if (++done_ == static_cast<int64_t>(descriptions_.size())) close_all();
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
  member_->send_all(kPieces, packed(descriptions_, 0));
  sent_ = descriptions_.size();
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

void Farm::run(int threads) {
  if (descriptions_.empty()) return;
  std::thread receiver;
  if (member_ != nullptr) {
    try {
      open();
    } catch (...) {
      close_all();
      throw;
    }
    receiver = std::thread([this] {
      try {
        receive();
      } catch (...) {
        fail(std::current_exception());  // `arrived` refused something, or a rank has left
      }
    });
  }
  work(mine_, threads);
  {
    // Stopped before all was done: the others must hear that no more comes.
    const std::lock_guard lock(arriving_);
    if (!closed() && member_ != nullptr) member_->stop_all();
    close_all();
  }
  if (receiver.joinable()) receiver.join();
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (done_ < static_cast<int64_t>(descriptions_.size())) throw Interrupted();
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
        add_descriptions(unpacked(message.bytes));
      }
    });
    work(helper, threads);
    receiver.join();
    log::info("{} pieces of work done.", done_);
    member_.send(0, kClosed);
  }

 private:
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
