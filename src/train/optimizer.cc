#include "nascent/train/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "nascent/core/error.h"

namespace nascent {

void OptimizerOptions::declare(OptionTable& table, const std::string& section_name, const std::string& help,
                               bool bare_flags) {
  auto section = table.section(section_name, help);
  const auto add = [&](const std::string& name, auto& field, const std::string& meaning) -> Option& {
    Option& option = section.add(name, field, meaning);
    return bare_flags ? option : option.flag(option.key());
  };
  add("optimizer", optimizer, "optimiser").one_of(Optimizer::Registry::instance().names());
  add("lr", lr, "learning rate after warm-up").range(0, 1000);
  add("momentum", momentum, "sgd: momentum").range(0, 0.99999);
  add("nesterov", nesterov, "sgd: Nesterov momentum");
  add("weight-decay", weight_decay, "weight decay (L2, added to the gradient)").range(0, 10);
  add("beta1", beta1, "adam: decay of the first moment").range(0, 0.999999);
  add("beta2", beta2, "adam: decay of the second moment").range(0, 0.999999);
  add("clip", clip, "clip the global gradient norm at this value; 0: no clipping").at_least(0);
}

std::vector<at::Tensor> Optimizer::Selection::pick(const std::vector<at::Tensor>& from) const {
  std::vector<at::Tensor> picked;
  picked.reserve(index.size());
  for (const size_t i : index) picked.push_back(from[i]);
  return picked;
}

Optimizer::Selection Optimizer::select(const std::vector<at::Tensor>& gradients, double weight_decay) const {
  TORCH_INTERNAL_ASSERT(gradients.size() == parameters_.size(), "one gradient per parameter");
  Selection selection;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    selection.index.push_back(i);
    selection.parameters.push_back(parameters_[i]);
    selection.gradients.push_back(gradients[i]);
  }
  if (weight_decay != 0 && !selection.index.empty()) {
    at::NoGradGuard no_grad;
    selection.gradients = at::_foreach_add(selection.gradients, selection.parameters, weight_decay);
  }
  return selection;
}

std::vector<at::Tensor> Optimizer::zeros() const {
  std::vector<at::Tensor> moments;
  for (const auto& parameter : parameters_) moments.push_back(at::zeros_like(parameter.detach()));
  return moments;
}

void Optimizer::save_moments(const std::vector<at::Tensor>& moments, State& state, const std::string& prefix) {
  for (size_t i = 0; i < moments.size(); ++i) state.put(prefix + std::to_string(i), moments[i]);
}

void Optimizer::load_moments(const std::vector<at::Tensor>& moments, const State& state, const std::string& prefix) {
  for (size_t i = 0; i < moments.size(); ++i) state.copy_into(prefix + std::to_string(i), moments[i]);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, std::vector<at::Tensor> parameters) {
  return Optimizer::Registry::instance().make(options.optimizer, options, std::move(parameters));
}

double clip_gradients(std::vector<at::Tensor>& gradients, double limit) {
  std::vector<at::Tensor> defined;
  for (const auto& gradient : gradients) {
    if (gradient.defined()) defined.push_back(gradient);
  }
  if (defined.empty()) return 0;
  at::NoGradGuard no_grad;
  // Thousands of small tensors: their norms stay where they are until the one number at the end is fetched.
  const double norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(defined, 2)), 2).item<double>();
  const double scale = limit / (norm + 1e-6);
  if (limit > 0 && scale < 1) at::_foreach_mul_(defined, scale);
  return norm;
}

}  // namespace nascent
