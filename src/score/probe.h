// One architecture under examination: a freshly initialised network, one batch of images, and what metrics want to know
// of them. Everything is computed when it is first asked for, and once: metrics share forward and backward passes.
//
//   Probe probe(source, genotype, {.initialiser = "lecun"}, batch);
//   const double trace = Metric::Registry::instance().make("trace", probe);
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/score/sample_gradients.h"
#include "nascent/space/plan.h"
#include "nascent/train/evaluate.h"

namespace nascent {

struct ProbeOptions {
  std::string initialiser = "lecun";
  KernelGradients ntk = KernelGradients::constant;
  uint64_t seed = 1;
};

// Where networks come from.
struct ProbeSource {
  const Space& space;
  NetworkOptions network;
  Shape input;
  int classes = 10;
};

class Probe {
 public:
  Probe(const ProbeSource& source, Genotype genotype, ProbeOptions options, TensorBatch batch);
  ~Probe();

  const NetworkPlan& plan() const { return plan_; }
  const TensorBatch& batch() const { return batch_; }
  const ProbeOptions& options() const { return options_; }
  int64_t images() const { return batch_.labels.size(0); }
  const Tape& tape() const { return *tape_; }
  // The same architecture at another size or with other weights, in a network of its own; "": the probe's initialiser.
  std::unique_ptr<Network> network_of(const NetworkOptions& size, const Shape& input,
                                      const std::string& initialiser = "") const;
  const NetworkOptions& size() const { return source_.network; }
  const Space& space() const { return source_.space; }

  const Trace& trace();
  // Zero where no path leads to them.
  at::Tensor logits();

  // Of the mean cross-entropy: the gradient of every weight, by step (undefined: zero), and Fisher's information, once
  // for every channel and once for every weight.
  struct LossGradients {
    std::vector<at::Tensor> weights;
    double fisher_of_channels = 0, fisher_of_weights = 0;
  };
  const LossGradients& loss_gradients();

  // Gram matrix [N, N] (double) of per-image gradients of the weights, where the gradient of the logits is `seed`.
  at::Tensor gram(const at::Tensor& seed);
  // That of the logits of the true classes: the tangent kernel; and its eigenvalues, ascending.
  const at::Tensor& ntk();
  const std::vector<double>& ntk_eigenvalues();

  // The largest amount of memory that this probe's tensors took at one time, in bytes, as far as it is kept from pass
  // to pass.
  int64_t bytes() const { return trace_ ? trace_->bytes() : 0; }

 private:
  ProbeSource source_;
  Genotype genotype_;
  ProbeOptions options_;
  TensorBatch batch_;
  NetworkPlan plan_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Tape> tape_;
  std::optional<Trace> trace_;
  std::optional<LossGradients> loss_gradients_;
  std::optional<at::Tensor> ntk_;
  std::optional<std::vector<double>> eigenvalues_;
};

// Training-free metrics, by name. A new one is one file with a NASCENT_REGISTER(Metric, ...) at its foot.
struct MetricFacts {
  bool lower_is_better = false;
  int version = 1;  // raised when the metric changes its meaning: scores of another version are not taken from caches
};

// The metric that the thesis's bounds put beside each of the others.
inline constexpr const char* kConditionNumber = "kappa";

struct Metric {
  static std::string kind() { return "metric"; }
  using Registry = nascent::Registry<Metric, double(Probe&), MetricFacts>;
};

// Eigenvalues of a symmetric matrix, ascending.
std::vector<double> symmetric_eigenvalues(const at::Tensor& matrix);

}  // namespace nascent
