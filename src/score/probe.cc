#include "nascent/score/probe.h"

#include <ATen/ATen.h>

#include <Eigen/Eigenvalues>

#include "nascent/nn/network.h"

namespace nascent {

Probe::Probe(const ProbeSource& source, Genotype genotype, ProbeOptions options, TensorBatch batch)
    : source_(source),
      genotype_(std::move(genotype)),
      options_(std::move(options)),
      batch_(std::move(batch)),
      plan_(plan_network(source.space, genotype_, source.network, source.input, source.classes)),
      network_(std::make_unique<Network>(plan_, options_.seed, options_.initialiser)),
      tape_(std::make_unique<Tape>(*network_)) {}

Probe::~Probe() = default;

std::unique_ptr<Network> Probe::network_of(const NetworkOptions& size, const Shape& input,
                                           const std::string& initialiser) const {
  return std::make_unique<Network>(plan_network(source_.space, genotype_, size, input, source_.classes), options_.seed,
                                   initialiser.empty() ? options_.initialiser : initialiser);
}

const Trace& Probe::trace() {
  if (!trace_) trace_ = forward(*tape_, batch_.images);
  return *trace_;
}

at::Tensor Probe::logits() {
  if (tape_->is_connected()) return trace().values[tape_->logits()];
  return at::zeros({images(), source_.classes});
}

namespace {

// Half the mean over images of the squared sum over pixels of value * gradient, summed over channels.
double fisher_information(const at::Tensor& value, const at::Tensor& gradient) {
  at::Tensor product = value * gradient;
  if (product.dim() == 4) product = product.sum({2, 3});
  return 0.5 * product.to(at::kDouble).square().mean(0).sum().item<double>();
}

}  // namespace

const Probe::LossGradients& Probe::loss_gradients() {
  if (loss_gradients_) return *loss_gradients_;
  LossGradients result;
  result.weights.resize(tape_->steps().size());
  const at::Tensor seed = cross_entropy_seed(logits(), batch_.labels) / static_cast<double>(images());
  backward(*tape_, trace(), seed, Statistics::coupled, [&](size_t i, const at::Tensor& gradient) {
    const Step& step = tape_->steps()[i];
    result.weights[i] = weight_gradient(step, trace_->values[step.in[0]], gradient);
    const double fisher = fisher_information(trace_->values[step.out], gradient);
    result.fisher_of_channels += fisher;
    result.fisher_of_weights += fisher * static_cast<double>(step.weight.numel() / step.weight.size(0));
  });
  return loss_gradients_.emplace(std::move(result));
}

at::Tensor Probe::gram(const at::Tensor& seed) { return gram_matrix(*tape_, trace(), seed, options_.ntk); }

const at::Tensor& Probe::ntk() {
  if (!ntk_) ntk_ = gram(label_seed(logits(), batch_.labels));
  return *ntk_;
}

const std::vector<double>& Probe::ntk_eigenvalues() {
  if (!eigenvalues_) eigenvalues_ = symmetric_eigenvalues(ntk());
  return *eigenvalues_;
}

std::vector<double> symmetric_eigenvalues(const at::Tensor& matrix) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const at::Tensor values = matrix.to(at::kDouble).contiguous();
  const Eigen::Map<const Matrix> map(values.data_ptr<double>(), values.size(0), values.size(1));
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(map, Eigen::EigenvaluesOnly);
  const auto& found = solver.eigenvalues();
  return {found.data(), found.data() + found.size()};
}

}  // namespace nascent
