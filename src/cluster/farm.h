// Work that falls into pieces, done by whichever rank is free. A piece is a pure function of what describes it, so it
// does not matter who does it, and results are told apart by the number of their piece.
//
//   ScoringHelper helper(options);                                       // does pieces; other ranks make one like it
//   Farm farm("score", opening, helper, [&](int64_t piece, const std::string& result) { ... });
//   for (int64_t i = 0; i < count; ++i) farm.add({.number = i});
//   farm.run(threads);                                                   // on rank 0; the others are in serve()
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "nascent/cluster/work_list.h"
#include "nascent/core/options.h"
#include "nascent/core/registry.h"

namespace nascent::cluster {

class Member;

// Does pieces of one kind of work. Its maker gets what rank 0 opened the farm with, and may refuse it with an Error.
class Helper {
 public:
  static std::string kind() { return "helper"; }
  using Registry = nascent::Registry<Helper, std::unique_ptr<Helper>(const Json& opening)>;

  virtual ~Helper() = default;
  // Of the data that it works on: must be the same on every rank.
  virtual std::string digest() const { return ""; }
  // Called from several threads where the farm runs with several.
  virtual std::string piece(const Work& work) = 0;
  // Called first by each thread that does pieces beside others in this process.
  virtual void start_thread() {}
};

// Pieces as one rank sees them.
class Pieces {
 public:
  virtual ~Pieces() = default;

 protected:
  using Enough = std::function<bool()>;

  // Does pieces until there are none left, or work is to stop.
  void work(Helper& helper, int threads);
  // The same in this thread, and until there is enough. `taken` is the number of a piece that was not there yet: the
  // next call goes on with it.
  void work_alone(Helper& helper, std::optional<int64_t>& taken, const Enough& enough);
  void close();
  bool closed() const { return closed_; }

  virtual int64_t take_number() = 0;  // of the next piece
  virtual void deliver(int64_t piece, std::string result) = 0;
  virtual void fail(std::exception_ptr error) = 0;

  std::mutex mutex_;                 // of the list
  std::condition_variable changed_;  // the list has grown, a result has come, or all is over
  WorkList list_;

 private:
  // Nothing where the piece is not there yet, after a moment in which it might have come.
  std::optional<Work> find(int64_t piece);

  std::atomic<bool> closed_ = false;
};

class Farm : public Pieces {
 public:
  using Arrived = std::function<void(int64_t piece, const std::string& result)>;

  // `arrived` is called for every piece, in the order in which they are done, one at a time. `log` begins the names of
  // the files to which other ranks write what they have to say; "": nowhere. `alone`: this rank does without the
  // others. `mine` and what `arrived` uses outlive the farm.
  Farm(std::string helper, Json opening, Helper& mine, Arrived arrived, std::string log = "", bool alone = false);

  ~Farm() override;  // stops what is still under way

  // The next piece; also to be called by `arrived`.
  void add(const Work& work);
  // Returns when all pieces are done. Throws the first error, or Interrupted after Ctrl-C on any rank.
  void run(int threads = 1);

  // The same for who has other things to do between pieces: begin(), work_until() as often as wanted, end().
  void begin();
  // Does pieces in this thread, and waits for those of others, until there is `enough`. Throws as run() does where work
  // is to stop before.
  void work_until(const Enough& enough);
  // Stops what is still under way. Throws as run() does.
  void end();

 private:
  int64_t take_number() override;
  void deliver(int64_t piece, std::string result) override;
  void fail(std::exception_ptr error) override;
  void open();
  void tell_pieces();
  void receive();
  void stop();
  void close_all();

  std::string name_;
  Json opening_;
  Helper& mine_;
  Arrived arrived_;
  std::string log_;
  Member* member_;
  int64_t base_ = 0;  // of the shared counter
  int64_t next_ = 0;  // where there is one rank
  int64_t sent_ = 0;  // pieces that the others know of
  int64_t done_ = 0;
  std::optional<int64_t> taken_;  // by work_until()
  bool running_ = false;
  std::recursive_mutex arriving_;  // one result at a time; held while `arrived` adds pieces
  std::exception_ptr error_;
  std::thread receiver_;  // of what other ranks have done
};

}  // namespace nascent::cluster
