#include "nascent/cluster/member.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"

namespace nascent::cluster {
namespace {

Member* the_member = nullptr;

using Pause = std::chrono::microseconds;
constexpr Pause kHurried{20}, kBusy{200}, kIdle{10'000};  // between two looks at the network

// An error comes before an interruption, which comes before work that is done in part, which comes before success.
int worse(int a, int b) {
  const auto weight = [](int code) { return code == 0 ? 0 : code == 3 ? 1 : code == 130 ? 2 : 3; };
  return weight(b) > weight(a) ? b : a;
}

}  // namespace

Member* Member::instance() { return the_member; }

Member::Member(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      rank_(transport_->rank()),
      size_(transport_->size()),
      neighbours_(transport_->neighbours()) {
  carrier_ = std::thread([this] { carry(); });
  the_member = this;
}

Member::~Member() {
  the_member = nullptr;
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  asked_.notify_one();
  carrier_.join();
}

void Member::send(int to, Kind kind, std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    outbox_.push_back({to, kind, std::move(bytes)});
  }
  asked_.notify_one();
}

void Member::send_all(Kind kind, const std::string& bytes) {
  for (int to = 0; to < size_; ++to) {
    if (to != rank_) send(to, kind, bytes);
  }
}

int64_t Member::fetch_and_add(int64_t add) {
  const auto promise = std::make_shared<std::promise<int64_t>>();
  auto before = promise->get_future();
  {
    const std::lock_guard lock(mutex_);
    fetches_.emplace_back(add, promise);
  }
  asked_.notify_one();
  return before.get();
}

// The only thread that touches the network while it runs. It looks often while something is under way, and now and then
// otherwise: a rank that waits costs its machine next to nothing.
void Member::carry() {
  Pause pause = kBusy;
  std::unique_lock lock(mutex_);
  while (true) {
    auto outgoing = std::exchange(outbox_, {});
    auto fetches = std::exchange(fetches_, {});
    lock.unlock();
    const bool asked = !outgoing.empty() || !fetches.empty();
    for (Message& message : outgoing) transport_->send(message.from, message.kind, std::move(message.bytes));
    for (auto& [add, promise] : fetches) {
      transport_->fetch_and_add(add, [promise = promise](int64_t before) { promise->set_value(before); });
    }
    bool news = asked;
    while (auto message = transport_->receive()) {
      take(std::move(*message));
      news = true;
    }
    const bool under_way = transport_->progress();
    pass_on_interrupt();
    lock.lock();
    const bool nothing = outbox_.empty() && fetches_.empty();
    if (quit_ && nothing && !under_way) return;
    pause = news || under_way ? kBusy : std::min(2 * pause, kIdle);
    if (!nothing || (hurried_ > 0 && (news || under_way))) continue;
    asked_.wait_for(lock, hurried_ > 0 ? kHurried : pause);
  }
}

void Member::take(Message message) {
  if (message.kind == kStop) return request_interrupt();
  {
    const std::lock_guard lock(mutex_);
    if (message.kind == kLeft) {
      const Json left = Json::parse(message.bytes);
      left_[message.from] = {left.at("code").get<int>(), left.at("host").get<std::string>(),
                             left.at("text").get<std::string>()};
      // Without it the work cannot go on.
      if (!leaving_ && left_[message.from].code != 0) request_interrupt();
    } else {
      inbox_.push_back(std::move(message));
    }
  }
  arrived_.notify_all();
}

// A stop on one rank is told to rank 0, which tells the others.
void Member::pass_on_interrupt() {
  if (!interrupt_requested() || stop_told_) return;
  stop_told_ = true;
  if (rank_ != 0) return transport_->send(0, kStop, "");
  for (int to = 1; to < size_; ++to) transport_->send(to, kStop, "");
}

void Member::stop_all() {
  request_interrupt();
  asked_.notify_one();
}

std::optional<Message> Member::find(std::initializer_list<Kind> kinds, int from) {
  const auto wanted = [&](const Message& message) {
    if (message.kind == kShare && message.from != from) return false;
    return std::find(kinds.begin(), kinds.end(), message.kind) != kinds.end();
  };
  const auto it = std::find_if(inbox_.begin(), inbox_.end(), wanted);
  if (it == inbox_.end()) return std::nullopt;
  Message message = std::move(*it);
  inbox_.erase(it);
  return message;
}

Message Member::wait(std::initializer_list<Kind> kinds) {
  std::unique_lock lock(mutex_);
  return wait(lock, kinds, -1);
}

Message Member::wait_now(std::initializer_list<Kind> kinds, int from) {
  std::unique_lock lock(mutex_);
  ++hurried_;
  asked_.notify_one();
  const auto calm = [this](const void*) { --hurried_; };
  const std::unique_ptr<const void, decltype(calm)> until_here(this, calm);
  return wait(lock, kinds, from);
}

Message Member::wait(std::unique_lock<std::mutex>& lock, std::initializer_list<Kind> kinds, int from) {
  while (true) {
    if (auto message = find(kinds, from)) return std::move(*message);
    for (const auto& [from, how] : left_) {
      if (how.code != 0) throw Error(told_by(from, how.host, how.text));
    }
    // They leave well when they are released, and then rank 0 waits for nothing else.
    if (!left_.empty()) {
      const auto& [from, how] = *left_.begin();
      throw Error(told_by(from, how.host,
                          "it was asked for something else and has ended. Start all ranks with the same command."));
    }
    arrived_.wait(lock);
  }
}

int Member::leave(const Leave& mine) {
  if (rank_ == 0) return lead_out(mine);
  send(0, kLeft, Json{{"code", mine.code}, {"host", mine.host}, {"text", mine.text}}.dump());
  return std::stoi(wait({kEnd}).bytes);
}

int Member::lead_out(const Leave& mine) {
  send_all(kRelease);
  std::map<int, Leave> left;
  {
    std::unique_lock lock(mutex_);
    leaving_ = true;
    arrived_.wait(lock, [&] { return static_cast<int>(left_.size()) == size_ - 1; });
    left = left_;
  }
  int code = mine.code;
  bool told = mine.code != 0 && mine.code != 130;
  for (const auto& [from, how] : left) {
    if (how.code != 0 && how.code != 130 && !std::exchange(told, true)) {
      log::error("{}", told_by(from, how.host, how.text));
    }
    code = worse(code, how.code);
  }
  send_all(kEnd, std::to_string(code));
  return code;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string told_by(int rank, const std::string& host, const std::string& text) {
  return fmt::format("Rank {} ({}): {}", rank, host, text);
}

namespace {
bool has_log = false;
}

void hold_back_output() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC), held = ::memfd_create("log", MFD_CLOEXEC);
  if (nowhere < 0 || held < 0) return;  // then the terminal must do
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(held, STDERR_FILENO);
  ::close(nowhere);
  ::close(held);
}

void log_beside(const std::string& prefix, int rank) {
  if (prefix.empty() || std::exchange(has_log, true)) return;
  const std::string path = fmt::format("{}rank-{}.log", prefix, rank);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return log::warning("{} cannot be written.", path);
  std::array<char, 4096> bytes{};
  off_t place = 0;
  while (true) {
    const ssize_t count = ::pread(STDERR_FILENO, bytes.data(), bytes.size(), place);
    if (count <= 0 || ::write(file, bytes.data(), static_cast<size_t>(count)) != count) break;
    place += count;
  }
  ::dup2(file, STDERR_FILENO);
  ::close(file);
}

}  // namespace nascent::cluster
