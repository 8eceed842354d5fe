#include <algorithm>
#include <cmath>

#include "nascent/train/schedule.h"

namespace nascent {
namespace {

class Step : public Schedule {
 public:
  explicit Step(const ScheduleOptions& options) : options_(options) {}

  double rate(double lr, double epoch, double) const override {
    const double drops = std::floor(epoch / options_.step_epochs);
    return std::max(options_.lr_min, lr * std::pow(options_.step_factor, drops));
  }

 private:
  ScheduleOptions options_;
};

NASCENT_REGISTER(Schedule, "step", "times step-factor after every step-epochs",
                 [](const ScheduleOptions& options) -> std::unique_ptr<Schedule> {
                   return std::make_unique<Step>(options);
                 });

}  // namespace
}  // namespace nascent
