#include "nascent/analysis/spectrum.h"

#include <ATen/ATen.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/no_events.h"
#include "nascent/core/random.h"
#include "nascent/train/loss.h"
#include "nascent/train/model.h"

namespace nascent {
namespace {

struct Tridiagonal {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
  double last = 0;  // the norm of what the basis does not hold
};

Tridiagonal solve(const at::Tensor& alpha, const at::Tensor& beta) {
  const double* diagonal = alpha.data_ptr<double>();
  const double* beside = beta.data_ptr<double>();
  // Where beta is zero the basis holds all there is.
  int size = 1;
  while (size < alpha.size(0) && beside[size - 1] > 0) ++size;
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(size, size);
  for (int i = 0; i < size; ++i) {
    matrix(i, i) = diagonal[i];
    if (i + 1 < size) matrix(i, i + 1) = matrix(i + 1, i) = beside[i];
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors(), beside[size - 1]};
}

// How far finite differences move the layer that moves most, as a part of its norm. second_product() takes six times
// that, as supernets need in which statistics change with every batch; here they are constants, gradients are right to
// rounding, and the curvature of a trained network changes within such a step.
double relative_move(const at::Tensor& weight) { return weight.scalar_type() == at::kDouble ? 5e-5 : 5e-3; }

Tensors central_difference(const LossFunction& loss, const Tensors& x, const Tensors& v, double relative) {
  double fastest = 0;
  Tensors saved;
  for (size_t i = 0; i < x.size(); ++i) {
    const double size = x[i].detach().norm().item<double>();
    if (size > 0) fastest = std::max(fastest, v[i].norm().item<double>() / size);
    saved.push_back(x[i].detach().clone());
  }
  const double step = fastest > 0 ? relative / fastest : 1e-3;
  const auto move = [&](double by) {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < x.size(); ++i) {
      at::Tensor weight = x[i];
      weight.copy_(saved[i]);
      if (by != 0) weight.add_(v[i], by);
    }
  };
  move(step);
  Tensors product = dense_gradients(loss(), x);
  move(-step);
  const Tensors before = dense_gradients(loss(), x);
  move(0);  // back, to the bit
  for (size_t i = 0; i < x.size(); ++i) product[i] = (product[i] - before[i]) / (2 * step);
  return product;
}

}  // namespace

HessianOperator::HessianOperator(Network& network, ImageBatches batches, Differentiation how, double move)
    : network_(&network), batches_(std::move(batches)), how_(how), move_(move) {
  network.eval();
  if (batches_.empty()) fail("A Hessian needs images.");
  const at::Tensor loss = classification_loss(network.forward(batches_[0].images.narrow(0, 0, 1)).logits,
                                              batches_[0].labels.narrow(0, 0, 1));
  const Tensors all = network.parameters();
  const Tensors reached = gradients(loss, all);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!reached[i].defined()) continue;  // the auxiliary head, and nodes that nothing takes
    parameters_.push_back(all[i]);
    size_ += all[i].numel();
  }
  if (move_ == 0 && !parameters_.empty()) move_ = relative_move(parameters_[0]);
}

at::Tensor HessianOperator::operator()(const at::Tensor& vector) const {
  Tensors parts;
  int64_t offset = 0;
  for (const at::Tensor& parameter : parameters_) {
    parts.push_back(vector.narrow(0, offset, parameter.numel()).view(parameter.sizes()).to(parameter.scalar_type()));
    offset += parameter.numel();
  }
  at::Tensor sum = at::zeros({size_}, at::kDouble);
  const auto images = static_cast<double>(count_images(batches_));
  for (const TensorBatch& batch : batches_) {
    const auto loss = [&] { return classification_loss(network_->forward(batch.images).logits, batch.labels); };
    const Tensors product = how_ == Differentiation::finite
                                ? central_difference(loss, parameters_, parts, move_)
                                : second_product(loss, parameters_, parts, parameters_, how_);
    Tensors flat;
    for (const at::Tensor& part : product) flat.push_back(part.detach().reshape({-1}).to(at::kDouble));
    sum.add_(at::cat(flat), static_cast<double>(batch.labels.size(0)) / images);
  }
  return sum;
}

SymmetricOperator model_hessian(const std::filesystem::path& model, ImageBatches batches, Differentiation how) {
  struct Opened {
    std::shared_ptr<Network> network;
    std::unique_ptr<HessianOperator> hessian;
  };
  return [model, batches = std::move(batches), how, opened = std::make_shared<Opened>()](const at::Tensor& vector) {
    if (!opened->hessian) {
      opened->network = load_model(model).network;
      opened->hessian = std::make_unique<HessianOperator>(*opened->network, batches, how);
    }
    return (*opened->hessian)(vector);
  };
}

int64_t hessian_size(const std::filesystem::path& model, const ImageBatches& batches) {
  const auto network = load_model(model).network;
  return HessianOperator(*network, batches, Differentiation::exact).size();
}

std::pair<double, double> curvature_of(Network& network, const ImageBatches& batches, int steps, Differentiation how,
                                       uint64_t seed, double move) {
  const HessianOperator hessian(network, batches, how, move);
  SpectrumJob job(hessian, hessian.size(), {.steps = steps, .top = 1, .probes = 0}, seed);
  NoEvents events;
  for (int64_t step = 0; step < job.steps(); ++step) job.step(0, step, events);
  const SpectrumResult found = job.result();
  return {found.ratio(), found.eigenvalues.front()};
}

void SpectrumOptions::declare(OptionTable& table) {
  auto section = table.section("curvature", "Eigenvalues of the Hessian at the model.");
  section
      .add("lanczos-steps", steps,
           "Hessian-vector products (Lanczos steps) for the extreme eigenvalues, and per probe of the density")
      .range(2, 1000);
  section.add("top", top, "number of largest eigenvalues to report").range(1, 1000);
  section.add("trace-probes", probes, "Hessian-vector products for the trace; 0: none").range(0, 1000000);
  section
      .add("density-probes", density,
           "random probes for the spectral density, each taking that many Lanczos steps; 0: none")
      .range(0, 10000);
  section.add("curvature-images", images, "test images over which the Hessian is averaged; 0: all").at_least(0);
  section.add("products", products, "how Hessian-vector products are computed").one_of({"finite", "exact"});
}

SpectrumJob::SpectrumJob(SymmetricOperator product, int64_t size, SpectrumOptions options, uint64_t seed)
    : product_(std::move(product)), size_(size), options_(std::move(options)), seed_(seed) {
  options_.steps = static_cast<int>(std::min<int64_t>(options_.steps, size));
  alpha_ = at::zeros({runs(), options_.steps}, at::kDouble);
  beta_ = at::zeros({runs(), options_.steps}, at::kDouble);
  quadratic_forms_ = at::zeros({options_.probes}, at::kDouble);
}

int64_t SpectrumJob::steps() const { return runs() * options_.steps + options_.probes; }

// Signs at random: the trace's estimate then has the least variance.
at::Tensor SpectrumJob::probe(int64_t number) const {
  RandomStream random(seed_, "probe", {static_cast<uint64_t>(number)});
  at::Tensor signs = at::empty({size_}, at::kDouble);
  double* numbers = signs.data_ptr<double>();
  for (int64_t i = 0; i < size_; ++i) numbers[i] = (random() & 1) != 0 ? 1 : -1;
  return signs;
}

void SpectrumJob::lanczos(int64_t run, int64_t step) {
  if (step == 0) {
    basis_ = at::zeros({options_.steps + 1, size_}, at::kDouble);
    basis_[0].copy_(probe(run) / std::sqrt(static_cast<double>(size_)));
  }
  if (step > 0 && beta_[run][step - 1].item<double>() == 0) return;  // the basis is complete
  at::Tensor next = product_(basis_[step]);
  alpha_[run][step] = next.dot(basis_[step]);
  const at::Tensor known = basis_.narrow(0, 0, step + 1);
  // Twice is enough, whatever the rounding.
  for (int turn = 0; turn < 2; ++turn) next = next - at::mv(known.t(), at::mv(known, next));
  const double norm = next.norm().item<double>();
  const double scale = alpha_[run].abs().max().item<double>();
  if (norm <= 1e-12 * std::max(scale, 1e-300)) return;
  beta_[run][step] = norm;
  basis_[step + 1].copy_(next / norm);
}

StepReport SpectrumJob::step(int64_t, int64_t step, EventSink&) {
  const int64_t first = options_.steps, second = first + options_.probes;
  if (step < first) {
    lanczos(0, step);
  } else if (step < second) {
    const at::Tensor z = probe(1000 + step);
    quadratic_forms_[step - first] = product_(z).dot(z);
  } else {
    const int64_t rest = step - second;
    lanczos(1 + rest / options_.steps, rest % options_.steps);
  }
  const int64_t place = step < first ? step : (step - second) % options_.steps;
  if ((step < first || step >= second) && place + 1 == options_.steps) basis_ = at::Tensor();  // it is large
  return {.note = step < first ? "ends" : step < second ? "trace" : "density"};
}

void SpectrumJob::save(State& state, const std::string& prefix) const {
  if (basis_.defined()) state.put(prefix + "basis", basis_);
  state.put(prefix + "alpha", alpha_);
  state.put(prefix + "beta", beta_);
  state.put(prefix + "forms", quadratic_forms_);
}

void SpectrumJob::load(const State& state, const std::string& prefix) {
  if (state.has(prefix + "basis")) basis_ = state.tensor(prefix + "basis").clone();
  state.copy_into(prefix + "alpha", alpha_);
  state.copy_into(prefix + "beta", beta_);
  state.copy_into(prefix + "forms", quadratic_forms_);
}

SpectrumResult SpectrumJob::result() const {
  SpectrumResult result;
  const Tridiagonal ends = solve(alpha_[0], beta_[0]);
  const auto size = ends.values.size();
  for (Eigen::Index i = 0; i < std::min<Eigen::Index>(options_.top, size); ++i) {
    result.eigenvalues.push_back(ends.values(size - 1 - i));
    result.residuals.push_back(std::abs(ends.last * ends.vectors(size - 1, size - 1 - i)));
  }
  result.smallest = ends.values(0);
  if (options_.probes > 0) {
    result.trace = quadratic_forms_.mean().item<double>();
    const double deviation = options_.probes > 1 ? quadratic_forms_.std().item<double>() : NAN;
    result.trace_error = deviation / std::sqrt(static_cast<double>(options_.probes));
  }
  for (int run = 1; run < runs(); ++run) {
    const Tridiagonal part = solve(alpha_[run], beta_[run]);
    for (Eigen::Index i = 0; i < part.values.size(); ++i) {
      result.nodes.push_back(part.values(i));
      result.weights.push_back(part.vectors(0, i) * part.vectors(0, i) / options_.density);
    }
  }
  return result;
}

double SpectrumResult::ratio() const { return std::abs(smallest / eigenvalues.front()); }

double SpectrumResult::smoothing_width() const { return 0.01 * (eigenvalues.front() - smallest); }

double SpectrumResult::moment(int power) const {
  double sum = 0;
  for (size_t i = 0; i < nodes.size(); ++i) sum += weights[i] * std::pow(nodes[i], power);
  return sum;
}

std::vector<std::pair<double, double>> SpectrumResult::smoothed(double width, int points) const {
  std::vector<std::pair<double, double>> curve;
  if (nodes.empty()) return curve;
  const auto [low, high] = std::minmax_element(nodes.begin(), nodes.end());
  for (int p = 0; p < points; ++p) {
    const double place = *low - 3 * width + (*high - *low + 6 * width) * p / (points - 1);
    double sum = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      sum += weights[i] * std::exp(-0.5 * std::pow((place - nodes[i]) / width, 2)) / (width * std::sqrt(2 * M_PI));
    }
    curve.emplace_back(place, sum);
  }
  return curve;
}

Json SpectrumResult::to_json() const {
  Json json = {{"largest", eigenvalues}, {"residuals", residuals}, {"smallest", smallest}, {"ratio", ratio()}};
  if (std::isfinite(trace_error) && trace_error > 0) json["trace"] = trace, json["trace_error"] = trace_error;
  return json;
}

}  // namespace nascent
