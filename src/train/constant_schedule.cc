#include "nascent/train/schedule.h"

namespace nascent {
namespace {

class Constant : public Schedule {
 public:
  double rate(double lr, double, double) const override { return lr; }
};

NASCENT_REGISTER(Schedule, "constant", "always lr",
                 [](const ScheduleOptions&) -> std::unique_ptr<Schedule> { return std::make_unique<Constant>(); });

}  // namespace
}  // namespace nascent
