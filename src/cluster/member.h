// This process among the ranks: a thread that carries its messages, so that no other waits by spinning, and that passes
// on requests to stop. Used within this room alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "nascent/cluster/transport.h"
#include "nascent/core/options.h"

namespace nascent::cluster {

// To rank 0: hello, opened, result, closed, left. From it: open, pieces, close, order, disband, release, end. Both
// ways: stop. From any to any: share.
enum Kind : int {
  kHello = 1,
  kOpen,
  kOpened,
  kPieces,
  kResult,
  kClose,
  kClosed,
  kStop,
  kRelease,
  kLeft,
  kEnd,
  kOrder,
  kShare,
  kDisband
};

// How a rank ended.
struct Leave {
  int code = 0;
  std::string host{}, text{};  // the error's
};

class Member {
 public:
  explicit Member(std::unique_ptr<Transport> transport);
  ~Member();  // all ranks together
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  static Member* instance();  // null where there is one rank

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Neighbours& neighbours() const { return neighbours_; }
  // Both may be called from any thread.
  void send(int to, Kind kind, std::string bytes = "");
  void send_all(Kind kind, const std::string& bytes = "");  // from rank 0 to the others
  int64_t fetch_and_add(int64_t add);
  // The oldest message of these kinds. On rank 0 an Error where another rank has failed meanwhile.
  Message wait(std::initializer_list<Kind> kinds);
  // The same for who cannot go on without it: the network is looked at all the time. `from` >= 0: of this rank, if it
  // is a share.
  Message wait_now(std::initializer_list<Kind> kinds, int from = -1);
  // All ranks stop as after Ctrl-C.
  void stop_all();
  // The exit code that all agree on.
  int leave(const Leave& mine);

 private:
  void carry();
  void take(Message message);
  void pass_on_interrupt();
  std::optional<Message> find(std::initializer_list<Kind> kinds, int from);
  Message wait(std::unique_lock<std::mutex>& lock, std::initializer_list<Kind> kinds, int from);
  int lead_out(const Leave& mine);

  std::unique_ptr<Transport> transport_;
  int rank_, size_;
  Neighbours neighbours_;
  std::mutex mutex_;
  std::condition_variable arrived_, asked_;
  std::deque<Message> inbox_, outbox_;  // of the outbox, `from` is to whom
  std::deque<std::pair<int64_t, std::shared_ptr<std::promise<int64_t>>>> fetches_;
  std::map<int, Leave> left_;  // on rank 0: the others that have ended
  int hurried_ = 0;            // threads in wait_now()
  bool stop_told_ = false, leaving_ = false, quit_ = false;
  std::thread carrier_;
};

std::string host_name();
// "Rank 3 (node7): text".
std::string told_by(int rank, const std::string& host, const std::string& text);

// Standard output and error of a rank other than 0: kept back until it is known where they belong.
void hold_back_output();
// From now on, and what was held back, to PREFIXrank-N.log. The first call counts.
void log_beside(const std::string& prefix, int rank);

}  // namespace nascent::cluster
