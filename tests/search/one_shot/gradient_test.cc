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
  const double first = dense_gradients(losses.valid(), {toy.a})[0].item<double>();
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

// Eq. 7: with C'C proportional to the identity the amended term and the true one, -C H^-1 g, never point apart.
TEST(AmendedTerm, DoesNotPointAgainstTheTrueTerm) {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    Quadratic problem;
    const std::string name = std::to_string(trial);
    problem.d = random_tensor({5}, "d" + name);
    problem.m = random_tensor({5, 5}, "M" + name);
    problem.h = at::mm(problem.m.t(), problem.m) + at::eye(5, at::kDouble);
    problem.c = at::eye(5, at::kDouble);
    problem.a = random_tensor({5}, "a" + name).requires_grad_();
    const at::Tensor g = (problem.w - problem.d).detach();
    const at::Tensor truth = -at::mv(at::inverse(problem.h), g);
    EXPECT_GE(amended_term(problem.losses(), 1, Differentiation::exact)[0].dot(truth).item<double>(), 0);
  }
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
    EXPECT_LT(distance(found[0], expected), tolerance);
    EXPECT_TRUE(problem.w.equal(before));
  }
}

}  // namespace
}  // namespace nascent
