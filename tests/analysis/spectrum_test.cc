#include "nascent/analysis/spectrum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/no_events.h"
#include "nascent/core/random.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/engine.h"
#include "nascent/space/cell_plan.h"
#include "nascent/space/space.h"
#include "nascent/train/loss.h"
#include "nascent/train/trainer.h"

namespace nascent {
namespace {

at::Tensor drawn(at::IntArrayRef shape, uint64_t seed) {
  RandomStream random(seed, "test");
  at::Tensor numbers = at::empty(shape, at::kDouble);
  for (int64_t i = 0; i < numbers.numel(); ++i) numbers.data_ptr<double>()[i] = random.normal();
  return numbers;
}

// A bulk in [-1, 1] and outliers 100, 50, 20, -5, mirrored at a plane so that no axis is an eigenvector.
struct Quadratic {
  at::Tensor values, mirror;
  explicit Quadratic(int64_t size) {
    RandomStream random(3, "bulk");
    values = at::empty({size}, at::kDouble);
    for (int64_t i = 0; i < size; ++i) values.data_ptr<double>()[i] = random.uniform(-1, 1);
    const double outliers[] = {100, 50, 20, -5};
    for (int i = 0; i < 4; ++i) values[i] = outliers[i];
    mirror = drawn({size}, 5);
    mirror /= mirror.norm();
  }
  at::Tensor reflected(const at::Tensor& v) const { return v - 2 * mirror * mirror.dot(v); }
  at::Tensor operator()(const at::Tensor& v) const { return reflected(values * reflected(v)); }
};

TEST(Spectrum, OutliersDensityAndTraceOfALargeQuadratic) {
  const int64_t size = 10000;
  const Quadratic quadratic(size);
  SpectrumJob job(quadratic, size, {.steps = 50, .top = 3, .probes = 30, .density = 4}, 1);
  run_job(job, {});
  const SpectrumResult result = job.result();
  EXPECT_NEAR(result.eigenvalues[0], 100, 1e-4);
  EXPECT_NEAR(result.eigenvalues[1], 50, 1e-4);
  EXPECT_NEAR(result.eigenvalues[2], 20, 1e-4);
  EXPECT_NEAR(result.smallest, -5, 1e-4);
  EXPECT_LT(result.residuals[0], 1e-4);
  EXPECT_NEAR(result.trace, quadratic.values.sum().item<double>(), 3 * result.trace_error);
  for (int power = 1; power <= 3; ++power) {
    const double exact = quadratic.values.pow(power).mean().item<double>();
    EXPECT_NEAR(result.moment(power), exact, 0.01 * std::abs(exact)) << power;
  }
}

TEST(Spectrum, StopsWhereTheBasisIsComplete) {
  const at::Tensor values = at::tensor({3.0, 3.0, -1.0, -1.0}, at::kDouble);
  SpectrumJob job([&](const at::Tensor& v) { return values * v; }, 4, {.steps = 4, .top = 1, .probes = 0}, 1);
  run_job(job, {});
  EXPECT_NEAR(job.result().eigenvalues[0], 3, 1e-12);
  EXPECT_NEAR(job.result().smallest, -1, 1e-12);
}

TEST(Spectrum, ResumedItIsTheSame) {
  const Quadratic quadratic(200);
  const SpectrumOptions options{.steps = 10, .top = 2, .probes = 5, .density = 1};
  SpectrumJob whole(quadratic, 200, options, 1), first(quadratic, 200, options, 1), second(quadratic, 200, options, 1);
  run_job(whole, {});
  NoEvents events;
  const int64_t stop = 4;
  for (int64_t step = 0; step < stop; ++step) first.step(0, step, events);
  State state;
  first.save(state, "");
  second.load(state, "");
  for (int64_t step = stop; step < second.steps(); ++step) second.step(0, step, events);
  EXPECT_EQ(second.result().to_json(), whole.result().to_json());
  EXPECT_EQ(second.result().nodes, whole.result().nodes);
}

// A small convolutional network in double precision, against the Hessian row by row.
TEST(Spectrum, OfATinyNetworkIsThatOfItsExplicitHessian) {
  NetworkPlan plan{.space = "test", .skeleton = "test", .input = {2, 4, 4}, .classes = 3};
  plan.cells = {plan_fixed_block(
      plan.input, {{stage::conv(2, 3, 3), stage::batch_norm(3), stage::relu(3), stage::conv(3, 3, 1)}}, false)};
  plan.head = {stage::global_avg_pool(3), stage::linear(3, 3)};
  Network network(plan, 2);
  network.to(at::kDouble);
  network.eval();
  const ImageBatches batches = {{drawn({5, 2, 4, 4}, 1), at::tensor({0, 1, 2, 1, 0}, at::kLong)},
                                {drawn({3, 2, 4, 4}, 2), at::tensor({2, 2, 0}, at::kLong)}};
  const HessianOperator hessian(network, batches, Differentiation::exact);
  at::Tensor rows = at::empty({hessian.size(), hessian.size()}, at::kDouble);
  for (int64_t i = 0; i < hessian.size(); ++i) {
    at::Tensor unit = at::zeros({hessian.size()}, at::kDouble);
    unit[i] = 1;
    rows[i].copy_(hessian(unit));
  }
  EXPECT_TRUE(at::allclose(rows, rows.t(), 1e-9, 1e-12));
  const at::Tensor exact = at::linalg_eigvalsh(rows);
  SpectrumJob job(hessian, hessian.size(), {.steps = 200, .top = 3, .probes = 0}, 1);
  run_job(job, {});
  const int64_t last = hessian.size() - 1;
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(job.result().eigenvalues[i], exact[last - i].item<double>(), 1e-8);
  EXPECT_NEAR(job.result().smallest, exact[0].item<double>(), 1e-8);
}

// Without ReLUs and max pools there is but one Hessian: convolutions, norms and a classifier, in single precision.
TEST(Spectrum, FiniteAndExactProductsAreOneWhereTheLossIsSmooth) {
  NetworkPlan plan{.space = "test", .skeleton = "test", .input = {3, 8, 8}, .classes = 4};
  plan.cells = {plan_fixed_block(
      plan.input, {{stage::conv(3, 6, 3), stage::batch_norm(6), stage::conv(6, 6, 1), stage::batch_norm(6)}}, false)};
  plan.head = {stage::global_avg_pool(6), stage::linear(6, 4)};
  Network network(plan, 2);
  network.eval();
  const ImageBatches batches = {
      {drawn({12, 3, 8, 8}, 1).to(at::kFloat), at::tensor({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, at::kLong)}};
  const auto exact = curvature_of(network, batches, 12, Differentiation::exact, 1);
  const auto finite = curvature_of(network, batches, 12, Differentiation::finite, 1);
  EXPECT_GT(exact.second, 0);
  EXPECT_NEAR(finite.second, exact.second, 0.01 * exact.second);
}

// A DARTS_V2 of a few channels, trained on random images, and the images that its Hessian is a mean over.
struct TrainedDarts {
  std::shared_ptr<Network> network;
  ImageBatches batches;

  explicit TrainedDarts(int epochs) {
    DataOptions options;
    options.name = "random";
    options.shape = {3, 8, 8};
    options.classes = 4;
    options.size = 64;
    options.batch = 32;
    options.valid_fraction = 0;
    const ImageData data(options, 0);
    network = std::make_shared<Network>(
        plan_network(*find_space("darts"), find_genotype("darts-v2"), {.channels = 4, .cells = 3}, {3, 8, 8}, 4), 1);
    TrainOptions training;
    training.epochs = epochs;
    Trainer trainer(network, data.training(data.split().train, "train"), data.testing(), training, 0, 1);
    run_job(trainer, {});
    trainer.restore_last();
    network->eval();
    batches = load_batches(*data.evaluation(data.all()), *network);
    recalibrate(*network, batches);
  }
  void in_double() {
    network->to(at::kDouble);
    for (TensorBatch& batch : batches) batch.images = batch.images.to(at::kDouble);
  }
  double largest(Differentiation how, double move = 0, int steps = 12) const {
    return curvature_of(*network, batches, steps, how, 1, move).second;
  }
};

// In single precision, through both engines. Finite differences see a few ReLUs and max pools switch, which exact
// products leave out: that is what is left between them (13.75 and 13.47).
TEST(Spectrum, FiniteAndExactProductsAgreeOnATrainedNetwork) {
  const TrainedDarts darts(30);
  const double exact = darts.largest(Differentiation::exact), finite = darts.largest(Differentiation::finite);
  EXPECT_GT(exact, 0);
  EXPECT_NEAR(finite, exact, 0.03 * exact);
  const EngineScope scope(Engine::reference);
  EXPECT_NEAR(darts.largest(Differentiation::exact), exact, 1e-3 * exact);
  EXPECT_NEAR(darts.largest(Differentiation::finite), finite, 1e-2 * exact);
}

// In double precision there is a step so short that nothing switches, and the two are one.
TEST(Spectrum, FiniteProductsOfAShortStepAreExact) {
  TrainedDarts darts(10);
  darts.in_double();
  const double exact = darts.largest(Differentiation::exact, 0, 6);
  EXPECT_NEAR(darts.largest(Differentiation::finite, 1e-8, 6), exact, 1e-3 * exact);
}

}  // namespace
}  // namespace nascent
