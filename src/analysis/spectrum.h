// Eigenvalues of a symmetric operator that is known by its products with vectors: the Hessian of a network's loss.
// Lanczos with full reorthogonalisation for the ends of the spectrum, Hutchinson for the trace, stochastic Lanczos
// quadrature for the density.
//
//   SpectrumJob job(hessian_operator(network, batches, Differentiation::finite), size, {}, seed);
//   run_job(job, {});
//   job.result().eigenvalues.front();
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nascent/analysis/weight_plane.h"
#include "nascent/train/loop.h"
#include "nascent/train/second_order.h"

namespace nascent {

// A vector in, the product out; both flat and of double precision.
using SymmetricOperator = std::function<at::Tensor(const at::Tensor&)>;

// The Hessian of the mean cross-entropy over all images, in evaluation mode (norms' statistics are constants), with
// respect to the parameters that the loss depends on. Images are streamed: memory is that of one batch.
struct HessianOperator {
  // `move` is how far finite differences move the layer that moves most, as a part of its norm; 0: what suits the
  // precision of the weights.
  HessianOperator(Network& network, ImageBatches batches, Differentiation how, double move = 0);
  at::Tensor operator()(const at::Tensor& vector) const;
  int64_t size() const { return size_; }

 private:
  Network* network_;
  ImageBatches batches_;
  Differentiation how_;
  double move_;
  Tensors parameters_;
  int64_t size_ = 0;
};

// That of a saved model, which is read at the first product; and its size.
SymmetricOperator model_hessian(const std::filesystem::path& model, ImageBatches batches, Differentiation how);
int64_t hessian_size(const std::filesystem::path& model, const ImageBatches& batches);

// |smallest / largest| and the largest eigenvalue of the Hessian of the network's loss as its weights are now.
std::pair<double, double> curvature_of(Network& network, const ImageBatches& batches, int steps, Differentiation how,
                                       uint64_t seed, double move = 0);

struct SpectrumOptions {
  int steps = 40;                    // of Lanczos, for the ends of the spectrum and for each probe of the density
  int top = 5;                       // largest eigenvalues that are reported
  int probes = 20;                   // of the trace, a product each; at least 2 give a standard error
  int density = 0;                   // probes of the density, `steps` products each
  int images = 4096;                 // that the Hessian is a mean over
  std::string products = "finite";   // or "exact"
  void declare(OptionTable& table);  // section "curvature"
};

struct SpectrumResult {
  std::vector<double> eigenvalues{};  // the `top` largest, descending
  std::vector<double> residuals{};    // how far each is off at most
  double smallest = 0;
  double trace = 0, trace_error = 0;
  // The density as weighted points: of eigenvalue nodes[i] there is the share weights[i].
  std::vector<double> nodes{}, weights{};

  double ratio() const;            // |smallest / largest|
  double moment(int power) const;  // of the density
  double smoothing_width() const;  // a hundredth of the spectrum's extent
  // The density smoothed by Gaussians of a width, over a grid of eigenvalues.
  std::vector<std::pair<double, double>> smoothed(double width, int points) const;
  Json to_json() const;
};

// A product is a step: Lanczos for the ends, then the trace, then the density.
class SpectrumJob : public Job {
 public:
  SpectrumJob(SymmetricOperator product, int64_t size, SpectrumOptions options, uint64_t seed);

  std::string label() const override { return "curvature"; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override;
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  SpectrumResult result() const;

 private:
  at::Tensor probe(int64_t number) const;
  void lanczos(int64_t run, int64_t step);
  int64_t runs() const { return 1 + options_.density; }

  SymmetricOperator product_;
  int64_t size_;
  SpectrumOptions options_;
  uint64_t seed_;
  at::Tensor basis_;            // [steps + 1, size] of the Lanczos run under way; made at its first step
  at::Tensor alpha_, beta_;     // [runs, steps]
  at::Tensor quadratic_forms_;  // [probes]
};

}  // namespace nascent
