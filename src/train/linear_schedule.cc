#include "nascent/train/schedule.h"

namespace nascent {
namespace {

class Linear : public Schedule {
 public:
  explicit Linear(const ScheduleOptions& options) : lr_min_(options.lr_min) {}

  double rate(double lr, double epoch, double epochs) const override {
    return lr + (lr_min_ - lr) * elapsed(epoch, epochs);
  }

 private:
  double lr_min_;
};

NASCENT_REGISTER(Schedule, "linear", "a straight line from lr to lr-min",
                 [](const ScheduleOptions& options) -> std::unique_ptr<Schedule> {
                   return std::make_unique<Linear>(options);
                 });

}  // namespace
}  // namespace nascent
