// What follows from a program and the kind of a pass, before there are images or weights: planned by the first pass of
// a kind, used by all of them.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/kernels/packing.h"
#include "nascent/kernels/schedule.h"

namespace nascent::kernels {

// See ForwardCall.
struct PassKind {
  bool training = true, keep = true, inputs_only = false;
  bool operator==(const PassKind&) const = default;
};

// A schedule for each set of values that backward passes have visited.
class BackwardSchedules {
 public:
  template <class Make>
  const BackwardSchedule& of(const std::vector<bool>& visit, Make make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [visited, schedule] : known_) {
      if (visited == visit) return schedule;
    }
    return known_.emplace_back(visit, make()).second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::vector<bool>, BackwardSchedule>> known_;
};

struct PassPlan {
  PassPlan(std::shared_ptr<const CellProgram> program, const PassKind& kind);
  PassPlan(const PassPlan&) = delete;

  const BackwardSchedule& backward(const std::vector<bool>& visit) const;

  std::shared_ptr<const CellProgram> program;
  PassKind kind;
  std::vector<std::vector<Reader>> readers;  // per value
  ForwardSchedule schedule;
  Packing packing;
  std::vector<Halo> halos;       // per unit; the same for all that read the same
  std::vector<bool> normalised;  // per value: somebody reads it normalised
  bool folds = false;            // norms into weights: see CellRun::UnitEnd
  std::vector<bool> kept;        // per value: the backward pass finds it as the forward pass left it
  std::vector<bool> remade;      // per value: the backward pass, if there is one, makes it again
  // Per value: the unit, mixture or plain unit that makes it, -1: none.
  std::vector<int> maker, mix_of, plain_of;
  // Per value: some reader takes channels that do not fill whole vectors, so its gradient reaches a little past a
  // pixel: such a gradient is gathered in the thread's own memory, where that does no harm.
  std::vector<bool> apart;
  // Per value: only convolutions read it, all the same way: they make its whole gradient, which need not start from
  // zero.
  std::vector<bool> lone;

 private:
  void plan_keeping();
  bool is_apart(int value) const;
  bool is_lone(int value) const;

  mutable BackwardSchedules backward_;
};

// Of one program; by several threads at once if need be.
class PassPlans {
 public:
  explicit PassPlans(std::shared_ptr<const CellProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const PassPlan> of(const PassKind& kind);

 private:
  std::shared_ptr<const CellProgram> program_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const PassPlan>> plans_;
};

}  // namespace nascent::kernels
