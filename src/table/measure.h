// What a benchmark table holds a column of: a quantity of architectures, on a data set, after a number of epochs.
//
//   parse_measure("cifar10_valid12")            validation accuracy after the schedule of 12 epochs, mean over seeds
//   parse_measure("cifar10_valid4of12_seed777") after 4 of its 12 epochs, of the training with seed 777
//   parse_measure("cifar10_latency_ms_raspi4")
//   parse_measure("cifar10_pgd_linf_0.1")       accuracy under an attack of that norm and strength
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace nascent {

// So many epochs of a training schedule of length `of`. A schedule of 12 epochs is not the first 12 epochs of one of
// 200: the learning rate falls differently.
struct Budget {
  int epochs = 0, of = 0;  // both 0 where epochs do not matter (parameters, latency)

  Budget() = default;
  explicit Budget(int all) : epochs(all), of(all) {}
  Budget(int some, int all) : epochs(some), of(all) {}

  bool whole() const { return epochs == of; }
  // "12", "4of12".
  std::string text() const;
  // By schedule, then by epochs.
  auto operator<=>(const Budget& other) const { return of != other.of ? of <=> other.of : epochs <=> other.epochs; }
  bool operator==(const Budget&) const = default;
};

// An Error where `text` is neither "12" nor "4of12".
Budget parse_budget(const std::string& text);

constexpr int64_t kMeanOfSeeds = -1;

struct Measure {
  std::string data{};      // "cifar10"
  std::string quantity{};  // "valid", "test": accuracy in %; "train_seconds"; "latency_ms_..."; "params_m"; ...
  Budget budget{};
  int64_t seed = kMeanOfSeeds;

  std::string name() const;
  bool is_accuracy() const {
    return quantity == "valid" || quantity == "test" || quantity == "train" || is_robust_accuracy();
  }
  // "ATTACK_NORM_EPS": accuracy under attack, whose digits are a distance and no epochs.
  bool is_robust_accuracy() const;
  auto operator<=>(const Measure&) const = default;
};

// The reverse of name(). An Error says how a name is built.
Measure parse_measure(const std::string& name);

}  // namespace nascent
