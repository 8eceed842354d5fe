// Learning-rate schedules, by name.
#pragma once

#include <memory>
#include <string>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"

namespace nascent {

struct ScheduleOptions {
  std::string schedule = "cosine";
  double lr_min = 0;         // "cosine" and "linear" end at it, "step" does not fall below it
  double warmup_epochs = 0;  // linear rise from 0 at the start
  double step_epochs = 30;   // "step": epochs between drops
  double step_factor = 0.1;  // "step": what the rate is multiplied by
  void declare(OptionTable& table, const std::string& section);
};

class Schedule {
 public:
  static std::string kind() { return "schedule"; }
  using Registry = nascent::Registry<Schedule, std::unique_ptr<Schedule>(const ScheduleOptions&)>;
  virtual ~Schedule() = default;
  // The rate at `epoch` (fractions count) of `epochs`, after warm-up.
  virtual double rate(double lr, double epoch, double epochs) const = 0;

 protected:
  // How much of the run is over, 0 to 1.
  static double elapsed(double epoch, double epochs);
};

// Warm-up included: the schedule then runs over the epochs that are left.
double learning_rate(const ScheduleOptions& options, double lr, double epoch, double epochs);

}  // namespace nascent
