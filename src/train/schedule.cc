#include "nascent/train/schedule.h"

#include <algorithm>

namespace nascent {

void ScheduleOptions::declare(OptionTable& table, const std::string& section_name) {
  auto section = table.section(section_name, "");
  section.add("schedule", schedule, "learning-rate schedule").one_of(Schedule::Registry::instance().names());
  section.add("lr-min", lr_min, "final learning rate (cosine, linear) or its lower bound (step)").at_least(0);
  section.add("warmup-epochs", warmup_epochs, "warm-up epochs, in which the learning rate increases linearly from 0")
      .at_least(0);
  section.add("step-epochs", step_epochs, "step: epochs between drops of the learning rate; cyclic: epochs of a cycle")
      .range(1e-6, 1e6);
  section.add("step-factor", step_factor, "step: factor applied at each drop").range(0, 1);
}

double Schedule::elapsed(double epoch, double epochs) {
  return epochs > 0 ? std::clamp(epoch / epochs, 0.0, 1.0) : 1.0;
}

double learning_rate(const ScheduleOptions& options, double lr, double epoch, double epochs) {
  const double warmup = options.warmup_epochs;
  if (epoch < warmup) return lr * epoch / warmup;
  const auto schedule = Schedule::Registry::instance().make(options.schedule, options);
  return schedule->rate(lr, epoch - warmup, epochs - warmup);
}

}  // namespace nascent
