// An exponential moving average of a network's weights: after each step, average = decay * average + (1 - decay) *
// weights. Buffers are averaged like parameters; counters are taken as they are.
//
//   WeightAverage average(*network, 0.999);
//   average.update();                          // after each step
//   { WeightAverage::Shown shown(average); evaluate(*network, loader); }
#pragma once

#include "nascent/train/state.h"
#include "nascent/train/weights.h"

namespace nascent {

class WeightAverage : public Stateful {
 public:
  // Starts at the weights that the network has now.
  WeightAverage(const torch::nn::Module& network, double decay);

  void update();
  const Weights& weights() const { return average_; }

  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  // While it lives, the network has the averaged weights.
  class Shown {
   public:
    explicit Shown(WeightAverage& average) : average_(average) { average_.swap(); }
    ~Shown() { average_.swap(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    WeightAverage& average_;
  };

 private:
  void swap();

  Weights network_, average_;
  double decay_;
};

}  // namespace nascent
