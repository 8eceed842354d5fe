// Optimisers of a list of tensors, by name. They are our own so that their state is complete and simple to save.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"
#include "nascent/train/state.h"

namespace nascent {

struct OptimizerOptions {
  std::string optimizer = "sgd";
  double lr = 0.025;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 3e-4;  // added to the gradient, times the weight
  double beta1 = 0.9, beta2 = 0.999;
  double clip = 5;  // largest gradient norm; 0: no clipping
  // `section`: options of several optimisers can stand in one table ("train", "weights", "architecture"); their
  // flags then name it, as in --weights.lr, unless `bare_flags`.
  void declare(OptionTable& table, const std::string& section, const std::string& help, bool bare_flags = false);
};

struct OptimizerFacts {
  std::vector<std::string> reads{};  // options that only some optimisers make use of
};

class Optimizer : public Stateful {
 public:
  static std::string kind() { return "optimizer"; }
  using Registry =
      nascent::Registry<Optimizer, std::unique_ptr<Optimizer>(const OptimizerOptions&, std::vector<at::Tensor>),
                        OptimizerFacts>;

  explicit Optimizer(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {}
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  // One step with gradients as given (a parameter whose gradient is undefined is left alone) at learning rate `lr`.
  virtual void step(const std::vector<at::Tensor>& gradients, double lr) = 0;
  // The momentum, one tensor per parameter; empty where the optimiser has none of the classical kind.
  virtual std::vector<at::Tensor> velocity() const { return {}; }

 protected:
  // Parameters that have a gradient, by their index.
  struct Selection {
    std::vector<size_t> index;
    std::vector<at::Tensor> parameters, gradients;
    std::vector<at::Tensor> pick(const std::vector<at::Tensor>& from) const;
  };
  // Gradients come back with weight decay added.
  Selection select(const std::vector<at::Tensor>& gradients, double weight_decay) const;

  // Moments: one tensor per parameter.
  std::vector<at::Tensor> zeros() const;
  static void save_moments(const std::vector<at::Tensor>& moments, State& state, const std::string& prefix);
  static void load_moments(const std::vector<at::Tensor>& moments, const State& state, const std::string& prefix);

  std::vector<at::Tensor> parameters_;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters);

// Scales gradients in place so that their joint norm is at most `limit` (0: no limit); returns the norm before.
double clip_gradients(std::vector<at::Tensor>& gradients, double limit);

}  // namespace nascent
