// Random search: each proposal is drawn anew.
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

class RandomStrategy : public Strategy {
 public:
  explicit RandomStrategy(const StrategySetting& setting) : setting_(setting), random_(setting.seed, "random search") {}

  std::optional<Proposal> propose() override { return Proposal{setting_.space->sample(random_), setting_.budget}; }
  void tell(const Proposal&, double) override {}

 private:
  StrategySetting setting_;
  RandomStream random_;
};

NASCENT_REGISTER(
    Strategy, "random", "random search",
    [](const StrategySetting& setting) { return std::make_unique<RandomStrategy>(setting); },
    StrategyFacts{.recipe = "random"});

}  // namespace
}  // namespace nascent
