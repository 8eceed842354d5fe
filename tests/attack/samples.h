// Small victims and images that the tests of this room share.
#pragma once

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "errors.h"
#include "nascent/attack/attack.h"
#include "nascent/attack/objective.h"
#include "nascent/core/log.h"
#include "nascent/core/random.h"
#include "nascent/space/space.h"

namespace nascent::samples {

inline const bool quiet = (log::set_level(log::Level::error), true);

inline at::Tensor uniform(at::IntArrayRef sizes, double low, double high, uint64_t seed) {
  RandomStream random(seed, "attack test");
  at::Tensor values = at::empty(sizes, at::kFloat);
  for (int64_t i = 0; i < values.numel(); ++i)
    values.data_ptr<float>()[i] = static_cast<float>(random.uniform(low, high));
  return values;
}

// Logits are weights times pixels plus biases.
class LinearVictim : public Victim {
 public:
  LinearVictim(at::Tensor weights, at::Tensor biases)
      : Victim("linear"), weights_(std::move(weights)), biases_(std::move(biases)) {}
  at::Tensor forward(const at::Tensor& images) const override {
    return at::linear(images.flatten(1), weights_, biases_);
  }
  int64_t classes() const override { return weights_.size(0); }

 private:
  at::Tensor weights_, biases_;
};

// Two layers with a bend between them: as small as a network can be.
class BentVictim : public Victim {
 public:
  BentVictim(int64_t pixels, int64_t classes, uint64_t seed)
      : Victim("bent"),
        first_(uniform({16, pixels}, -0.6, 0.6, seed)),
        second_(uniform({classes, 16}, -1.5, 1.5, seed + 1000)) {}
  at::Tensor forward(const at::Tensor& images) const override {
    return at::linear(at::tanh(at::linear(images.flatten(1) - 0.5, first_)), second_);
  }
  int64_t classes() const override { return second_.size(0); }

 private:
  at::Tensor first_, second_;
};

// Answers without gradients.
class DeafVictim : public BentVictim {
 public:
  using BentVictim::BentVictim;
  at::Tensor forward(const at::Tensor& images) const override { return BentVictim::forward(images.detach()); }
};

inline std::vector<int64_t> numbers(int64_t count, int64_t first = 0) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

// Images with the labels that the victim gives them; no pixel near its border.
inline Attacked images_of(const Victim& victim, at::IntArrayRef shape, uint64_t seed, double low = 0.3,
                          double high = 0.7) {
  const at::Tensor images = uniform(shape, low, high, seed);
  return {images, victim.logits(images).argmax(1), numbers(images.size(0))};
}

inline Outcome run(const std::string& name, const Victim& victim, const Attacked& attacked, const Threat& threat,
                   AttackSettings settings = {}) {
  const auto& entry = Attack::Registry::instance().at(name);
  return attack_batch(*entry.make(settings), entry.facts, settings, victim, attacked, threat);
}

inline AttackSettings staying() {
  AttackSettings settings;
  settings.leave = false;
  return settings;
}

}  // namespace nascent::samples
