// Threads of the simulated machines in the place of the machine's own: the sources of src/cluster are compiled as they
// are, with this header in front (-include), and std::thread and what belongs to it are SimGrid's actors there. SMPI
// would carry MPI programs as they are, but knows ranks only: a thread of a rank, such as the one that carries its
// messages, is nobody there and may not call MPI.
#pragma once

// All that uses the real ones comes first.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <simgrid/s4u.hpp>
#include <thread>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/last_error.h"
#include "nascent/core/log.h"
#include "nascent/core/options.h"
#include "nascent/core/registry.h"

namespace std {  // where the sources look for them

class simulated_thread {
 public:
  simulated_thread() = default;
  template <class Call>
  explicit simulated_thread(Call call)
      : actor_(simgrid::s4u::Actor::create("thread", simgrid::s4u::this_actor::get_host(),
                                           std::function<void()>(std::move(call)))) {}
  bool joinable() const { return actor_ != nullptr; }
  void join() {
    actor_->join();
    actor_ = nullptr;
  }
  static unsigned hardware_concurrency() { return 1; }

 private:
  simgrid::s4u::ActorPtr actor_{};
};

class simulated_mutex {
 public:
  void lock() { mutex_->lock(); }
  void unlock() { mutex_->unlock(); }
  bool try_lock() { return mutex_->try_lock(); }
  simgrid::s4u::MutexPtr inner() const { return mutex_; }

 private:
  simgrid::s4u::MutexPtr mutex_ = simgrid::s4u::Mutex::create();
};

class simulated_recursive_mutex {
 public:
  void lock() {
    const auto self = simgrid::s4u::this_actor::get_pid();
    if (depth_ == 0 || owner_ != self) mutex_.lock();
    owner_ = self;
    ++depth_;
  }
  void unlock() {
    if (--depth_ == 0) mutex_.unlock();
  }

 private:
  simulated_mutex mutex_;
  aid_t owner_ = -1;
  int depth_ = 0;
};

class simulated_condition {
 public:
  void notify_one() { condition_->notify_one(); }
  void notify_all() { condition_->notify_all(); }
  void wait(std::unique_lock<simulated_mutex>& lock) { condition_->wait(lock.mutex()->inner()); }
  template <class Predicate>
  void wait(std::unique_lock<simulated_mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }
  template <class Rep, class Period>
  void wait_for(std::unique_lock<simulated_mutex>& lock, std::chrono::duration<Rep, Period> time) {
    std::unique_lock<simgrid::s4u::Mutex> inner(*lock.mutex()->inner(), std::adopt_lock);
    condition_->wait_for(inner, std::chrono::duration<double>(time).count());
    inner.release();
  }

 private:
  simgrid::s4u::ConditionVariablePtr condition_ = simgrid::s4u::ConditionVariable::create();
};

template <class T>
class simulated_future {
 public:
  struct State {
    simulated_mutex mutex;
    simulated_condition known;
    std::optional<T> value;
  };
  explicit simulated_future(std::shared_ptr<State> state) : state_(std::move(state)) {}
  T get() {
    std::unique_lock<simulated_mutex> lock(state_->mutex);
    state_->known.wait(lock, [this] { return state_->value.has_value(); });
    return *state_->value;
  }

 private:
  std::shared_ptr<State> state_;
};

template <class T>
class simulated_promise {
 public:
  simulated_future<T> get_future() { return simulated_future<T>(state_); }
  void set_value(T value) {
    {
      const std::lock_guard<simulated_mutex> lock(state_->mutex);
      state_->value = std::move(value);
    }
    state_->known.notify_all();
  }

 private:
  std::shared_ptr<typename simulated_future<T>::State> state_ = std::make_shared<typename simulated_future<T>::State>();
};

}  // namespace std

#define thread simulated_thread
#define mutex simulated_mutex
#define recursive_mutex simulated_recursive_mutex
#define condition_variable simulated_condition
#define promise simulated_promise
#define future simulated_future
