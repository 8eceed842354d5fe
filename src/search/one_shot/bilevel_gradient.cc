// Gradients of a bilevel problem through the weights: first order (none of it), unrolled, amended.
#include <ATen/ATen.h>

#include <cmath>

#include "nascent/nn/engine.h"
#include "nascent/search/one_shot/gradient.h"

namespace nascent {

void GradientOptions::declare(OptionTable& table) {
  auto section = table.section("search", "");
  section.add("gradient", gradient, "how the architecture's gradient is computed")
      .one_of(ArchitectureGradient::Registry::instance().names());
  section
      .add("second-derivatives", second_derivatives,
           "unrolled, amended: exact (double backward), or finite differences, which need less memory but are less "
           "accurate: with steps relative to the weights (finite) or as in DARTS (finite-darts)")
      .one_of(differentiations());
  section.add("amend", amend, "amended: coefficient of the amending term").range(0, 1e6);
  section.add("entropy-bonus", entropy_bonus, "reinforce: entropy bonus").range(0, 1e3);
  section.add("baseline-decay", baseline_decay, "reinforce: decay of the moving average of rewards").range(0, 1);
  section.add("policy-samples", policy_samples, "reinforce: architectures sampled per step").range(1, 1000);
  section.add("bound", bound, "clipped gradient, xnas update: bound on the gradient of a single image")
      .range(1e-9, 1e9);
}

namespace {

double joint_norm(const Tensors& tensors) {
  double square = 0;
  for (const auto& tensor : tensors) {
    if (tensor.defined()) square += tensor.detach().to(at::kDouble).square().sum().item<double>();
  }
  return std::sqrt(square);
}

}  // namespace

Tensors TwoTerms::sum() const {
  Tensors result;
  for (size_t i = 0; i < first.size(); ++i) result.push_back(first[i] + second[i]);
  return result;
}

double TwoTerms::ratio() const {
  const double size = joint_norm(first);
  return size > 0 ? joint_norm(second) / size : 0;
}

namespace {

Tensors mean_gradients(const MeanLoss& loss, const Tensors& inputs) {
  return loss.mean([&](const LossFunction& shard) { return dense_gradients(shard(), inputs); });
}

Tensors mean_product(const MeanLoss& loss, const Tensors& x, const Tensors& v, const Tensors& y, Differentiation how) {
  return loss.mean([&](const LossFunction& shard) { return second_product(shard, x, v, y, how); });
}

}  // namespace

TwoTerms unrolled_gradient(const BilevelLosses& losses, const UnrolledStep& step, Differentiation how) {
  const Tensors inner = mean_gradients(losses.train, losses.weights);
  Tensors saved;
  {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < inner.size(); ++i) {
      at::Tensor weight = losses.weights[i];
      saved.push_back(weight.clone());
      at::Tensor move = inner[i] + step.decay * weight;
      if (!step.velocity.empty()) move = move + step.momentum * step.velocity[i];
      weight.sub_(move, step.rate);
    }
  }
  Tensors inputs = losses.architecture;
  inputs.insert(inputs.end(), losses.weights.begin(), losses.weights.end());
  const Tensors outer = mean_gradients(losses.valid, inputs);
  {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < saved.size(); ++i) at::Tensor(losses.weights[i]).copy_(saved[i]);
  }
  const size_t count = losses.architecture.size();
  TwoTerms result{{outer.begin(), outer.begin() + static_cast<ptrdiff_t>(count)}, {}};
  const Tensors of_weights(outer.begin() + static_cast<ptrdiff_t>(count), outer.end());
  result.second = mean_product(losses.train, losses.weights, of_weights, losses.architecture, how);
  for (auto& part : result.second) part = -step.rate * part;
  return result;
}

Tensors amended_term(const BilevelLosses& losses, double coefficient, Differentiation how) {
  const Tensors of_weights = mean_gradients(losses.valid, losses.weights);
  const Tensors curved = mean_product(losses.train, losses.weights, of_weights, losses.weights, how);
  Tensors mixed = mean_product(losses.train, losses.weights, curved, losses.architecture, how);
  for (auto& part : mixed) part = -coefficient * part;
  return mixed;
}

namespace {

// First order: the weights are taken as they are, as if they did not depend on the architecture.
class FirstOrderGradient : public ArchitectureGradient {
 public:
  explicit FirstOrderGradient(const GradientSetup& setup) : problem_(setup.problem) {}

  ArchitectureGradientResult compute(const ArchitectureStep& step) override {
    auto [gradients, loss, top1] =
        problem_.gradients(step.valid, step.place, problem_.architecture(), /*regularised=*/true);
    return {std::move(gradients), loss, top1};
  }

 private:
  OneShotLoss& problem_;
};

// Kernels have no second derivatives.
Engine engine_for(Differentiation how) { return how == Differentiation::exact ? Engine::reference : engine(); }

// The losses of one architecture step, remembering what the last validation pass saw.
struct StepLosses {
  StepLosses(OneShotLoss& problem, const ArchitectureStep& step) {
    losses.weights = problem.weights();
    losses.architecture = problem.architecture();
    losses.train = mean_over_shards(problem, step.train, step.place, /*regularised=*/false);
    losses.valid = mean_over_shards(problem, step.valid, step.place, /*regularised=*/true);
  }
  StepLosses(const StepLosses&) = delete;

  ArchitectureGradientResult finish(const TwoTerms& terms) {
    result.gradients = terms.sum();
    result.second_ratio = terms.ratio();
    return std::move(result);
  }

  BilevelLosses losses;
  ArchitectureGradientResult result;

 private:
  MeanLoss mean_over_shards(OneShotLoss& problem, const TensorBatch& batch, const SearchPlace& place,
                            bool regularised) {
    return MeanLoss([this, &problem, &batch, place, regularised](const MeanLoss::Linear& of) {
      auto [tensors, loss, top1] = problem.mean([&](const Shard& shard) {
        OneShotLoss::Scored scored;
        scored.tensors = of([&] {
          const auto part = problem.loss(batch, place, shard, regularised);
          scored.loss = part.value.item<double>();
          scored.top1 = part.top1;
          return part.value;
        });
        return scored;
      });
      if (regularised) {
        result.loss = loss;
        result.top1 = top1;
      }
      return std::move(tensors);
    });
  }
};

class UnrolledGradient : public ArchitectureGradient {
 public:
  explicit UnrolledGradient(const GradientSetup& setup)
      : problem_(setup.problem),
        weights_(setup.weights),
        optimizer_(setup.optimizer),
        how_(differentiation(setup.options.second_derivatives)) {}

  ArchitectureGradientResult compute(const ArchitectureStep& step) override {
    const EngineScope scope(engine_for(how_));
    StepLosses at(problem_, step);
    const UnrolledStep unrolled{step.weights_lr, weights_.momentum, weights_.weight_decay, optimizer_.velocity()};
    return at.finish(unrolled_gradient(at.losses, unrolled, how_));
  }

 private:
  OneShotLoss& problem_;
  const OptimizerOptions& weights_;
  const Optimizer& optimizer_;
  Differentiation how_;
};

class AmendedGradient : public ArchitectureGradient {
 public:
  explicit AmendedGradient(const GradientSetup& setup)
      : problem_(setup.problem), amend_(setup.options.amend), how_(differentiation(setup.options.second_derivatives)) {}

  ArchitectureGradientResult compute(const ArchitectureStep& step) override {
    const EngineScope scope(engine_for(how_));
    StepLosses at(problem_, step);
    Tensors second = amended_term(at.losses, amend_, how_);
    return at.finish({mean_gradients(at.losses.valid, at.losses.architecture), std::move(second)});
  }

 private:
  OneShotLoss& problem_;
  double amend_;
  Differentiation how_;
};

NASCENT_REGISTER(
    ArchitectureGradient, "first-order", "weights held fixed (DARTS, first order)",
    [](const GradientSetup& setup) { return std::make_unique<FirstOrderGradient>(setup); }, GradientFacts{});
NASCENT_REGISTER(
    ArchitectureGradient, "unrolled", "through one step of the weights (DARTS, second order)",
    [](const GradientSetup& setup) { return std::make_unique<UnrolledGradient>(setup); },
    GradientFacts{.reads = {"search.second-derivatives"}, .bilevel = true});
NASCENT_REGISTER(
    ArchitectureGradient, "amended", "with the amended second term (Amended DARTS, eq. 6)",
    [](const GradientSetup& setup) { return std::make_unique<AmendedGradient>(setup); },
    GradientFacts{.reads = {"search.second-derivatives", "search.amend"}, .bilevel = true});

}  // namespace
}  // namespace nascent
