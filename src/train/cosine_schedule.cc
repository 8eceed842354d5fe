#include <cmath>
#include <numbers>

#include "nascent/train/schedule.h"

namespace nascent {
namespace {

class Cosine : public Schedule {
 public:
  explicit Cosine(const ScheduleOptions& options) : lr_min_(options.lr_min) {}

  double rate(double lr, double epoch, double epochs) const override {
    const double share = (1 + std::cos(std::numbers::pi * elapsed(epoch, epochs))) / 2;
    return lr_min_ + (lr - lr_min_) * share;
  }

 private:
  double lr_min_;
};

NASCENT_REGISTER(Schedule, "cosine", "half a cosine from lr to lr-min",
                 [](const ScheduleOptions& options) -> std::unique_ptr<Schedule> {
                   return std::make_unique<Cosine>(options);
                 });

}  // namespace
}  // namespace nascent
