#include "nascent/search/one_shot/gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "train/random_tensors.h"

namespace nascent {
namespace {

// The toy of amended-darts, A.1: L(w, a; x) = (w x - a)^2 with x = 1 in training and 2 in validation, at w = w*(a) = a.
struct Toy {
  at::Tensor w = at::full({1}, 3.0, at::kDouble).requires_grad_(), a = at::full({1}, 3.0, at::kDouble).requires_grad_();
  BilevelLosses losses() const {
    return {[this] { return (w - a).square().sum(); }, [this] { return (2 * w - a).square().sum(); }, {w}, {a}};
  }
};

TEST(AmendedTerm, OnThePapersToy) {
  const Toy toy;
  const auto losses = toy.losses();
  const auto derived = [&](const LossFunction& valid) { return dense_gradients(valid(), {toy.a}); };
  const double first = losses.valid.mean(derived)[0].item<double>();
  EXPECT_NEAR(first, -2 * 3.0, 1e-12);
  // The true second term is 4 a. Here H = 2, the mixed derivative -2 and the validation gradient 4 a: the amended term
  // with coefficient eta is -eta * (-2) * 2 * 4a = 16 eta a, so eta = 1/4 makes it exact.
  for (const auto how : {Differentiation::exact, Differentiation::finite}) {
    EXPECT_NEAR(amended_term(losses, 0.25, how)[0].item<double>(), 4 * 3.0, 1e-6);
    EXPECT_NEAR(amended_term(losses, 0.1, how)[0].item<double>(), 1.6 * 3.0, 1e-6);
  }
}

// A random quadratic bilevel problem with H = M'M + I.
struct Quadratic {
  at::Tensor m = random_tensor({5, 5}, "M"), c = random_tensor({3, 5}, "C"), d = random_tensor({5}, "d");
  at::Tensor h = at::mm(m.t(), m) + at::eye(5, at::kDouble);
  at::Tensor w = random_tensor({5}, "w").requires_grad_(), a = random_tensor({3}, "a").requires_grad_();
  BilevelLosses losses() const {
    return {[this] { return 0.5 * w.dot(at::mv(h, w)) + a.dot(at::mv(c, w)); },
            [this] { return 0.5 * (w - d).square().sum() + 0.5 * a.square().sum(); },
            {w},
            {a}};
  }
};

TEST(AmendedTerm, EqualsTheExactProductOnAQuadratic) {
  const Quadratic problem;
  const at::Tensor valid = (problem.w - problem.d).detach();
  const at::Tensor expected = -0.3 * at::mv(problem.c, at::mv(problem.h, valid));
  EXPECT_LT(distance(amended_term(problem.losses(), 0.3, Differentiation::exact)[0], expected), 1e-12);
  EXPECT_LT(distance(amended_term(problem.losses(), 0.3, Differentiation::finite)[0], expected), 1e-6);
}

// Of a quadratic with mixed derivative C, Hessian H and validation gradient g: <-C H g, -C H^-1 g>.
double agreement(const at::Tensor& c, const at::Tensor& h, const at::Tensor& g) {
  const auto size = g.size(0), choices = c.size(0);
  const at::Tensor w = at::zeros({size}, at::kDouble).requires_grad_();
  const at::Tensor a = at::zeros({choices}, at::kDouble).requires_grad_();
  const BilevelLosses losses{[&] { return 0.5 * w.dot(at::mv(h, w)) + a.dot(at::mv(c, w)); },
                             [&] { return g.dot(w) + 0 * a.sum(); },
                             {w},
                             {a}};
  const at::Tensor truth = -at::mv(c, at::mv(at::inverse(h), g));
  return amended_term(losses, 1, Differentiation::exact)[0].dot(truth).item<double>();
}

// The paper says that the amended term never points against the true one (eq. 7, A.5). It may: with H = diag(1, 4), one
// choice whose mixed derivative is (1, -1), and the validation gradient (1, 1), C H g = -3 and C H^-1 g = 3/4.
TEST(AmendedTerm, MayPointAgainstTheTrueTerm) {
  const at::Tensor h = at::diag(at::tensor({1.0, 4.0}, at::kDouble));
  const at::Tensor c = at::tensor({1.0, -1.0}, at::kDouble).view({1, 2});
  EXPECT_NEAR(agreement(c, h, at::tensor({1.0, 1.0}, at::kDouble)), -2.25, 1e-12);
}

// How often it does in random quadratics with few choices: nearly half the time. Only with C'C = I is the product sure
// to be positive, g'g.
TEST(AmendedTerm, PointsAgainstTheTrueTermNearlyHalfTheTime) {
  int negative = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::string name = std::to_string(trial);
    const at::Tensor m = random_tensor({8, 8}, "M" + name);
    const at::Tensor h = at::mm(m.t(), m) + 0.01 * at::eye(8, at::kDouble);
    negative += agreement(random_tensor({2, 8}, "C" + name), h, random_tensor({8}, "g" + name)) < 0;
    EXPECT_GT(agreement(at::eye(8, at::kDouble), h, random_tensor({8}, "g" + name)), 0);
  }
  EXPECT_GT(negative, 0.35 * kTrials);
  EXPECT_LT(negative, 0.5 * kTrials);
}

TEST(UnrolledGradient, EqualsDoubleBackwardThroughTheStep) {
  const Quadratic problem;
  const auto losses = problem.losses();
  const double rate = 0.05, momentum = 0.9, decay = 0.01;
  const at::Tensor velocity = random_tensor({5}, "velocity");
  // The unrolled weights as a differentiable function of the architecture.
  const at::Tensor inner = at::mv(problem.h, problem.w.detach()) + at::mv(problem.c.t(), problem.a);
  const at::Tensor moved = problem.w.detach() - rate * (inner + decay * problem.w.detach() + momentum * velocity);
  const at::Tensor valid = 0.5 * (moved - problem.d).square().sum() + 0.5 * problem.a.square().sum();
  const at::Tensor expected = dense_gradients(valid, {problem.a})[0];
  const at::Tensor before = problem.w.detach().clone();
  for (const auto& [how, tolerance] : {std::pair{Differentiation::exact, 1e-12}, {Differentiation::finite, 1e-6}}) {
    const auto found = unrolled_gradient(losses, {rate, momentum, decay, {velocity}}, how);
    EXPECT_LT(distance(found.sum()[0], expected), tolerance);
    EXPECT_NEAR(found.ratio(), found.second[0].norm().item<double>() / found.first[0].norm().item<double>(), 1e-12);
    EXPECT_TRUE(problem.w.equal(before));
  }
}

}  // namespace
}  // namespace nascent
