// Cosine annealing with restarts: one network per cycle for a snapshot ensemble (Huang et al. 2017).
#include <cmath>
#include <numbers>

#include "nascent/train/schedule.h"

namespace nascent {
namespace {

class Cyclic : public Schedule {
 public:
  explicit Cyclic(const ScheduleOptions& options) : lr_min_(options.lr_min), cycle_(options.step_epochs) {}

  double rate(double lr, double epoch, double epochs) const override {
    if (epoch >= epochs) return lr_min_;
    const double within = std::fmod(epoch, cycle_) / cycle_;
    return lr_min_ + (lr - lr_min_) * (1 + std::cos(std::numbers::pi * within)) / 2;
  }

 private:
  double lr_min_;
  double cycle_;  // epochs
};

NASCENT_REGISTER(Schedule, "cyclic", "half a cosine from lr to lr-min, again every step-epochs (snapshot ensembles)",
                 [](const ScheduleOptions& options) -> std::unique_ptr<Schedule> {
                   return std::make_unique<Cyclic>(options);
                 });

}  // namespace
}  // namespace nascent
