#include "nascent/train/second_order.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "train/random_tensors.h"

namespace nascent {
namespace {

// L(w, a) = 1/2 w'Aw + a'Bw + sum(sin(w)) sum(a^2): curved in both, with products that can be written down.
struct Curved {
  at::Tensor a = random_tensor({6, 6}, "A"), b = random_tensor({4, 6}, "B");
  at::Tensor w = random_tensor({6}, "w").requires_grad_(), x = random_tensor({4}, "x").requires_grad_();
  Curved() { a = a + a.t(); }
  at::Tensor loss() const { return 0.5 * w.dot(at::mv(a, w)) + x.dot(at::mv(b, w)) + w.sin().sum() * x.square().sum(); }
  at::Tensor mixed(const at::Tensor& v) const { return (at::mv(b, v) + 2 * x * w.cos().dot(v)).detach(); }
  at::Tensor hessian(const at::Tensor& v) const { return (at::mv(a, v) - w.sin() * v * x.square().sum()).detach(); }
};

TEST(SecondProduct, MatchesTheClosedFormBothWays) {
  const Curved problem;
  const at::Tensor v = random_tensor({6}, "v");
  const auto loss = [&] { return problem.loss(); };
  for (const auto& [how, tolerance] : {std::pair{Differentiation::exact, 1e-12}, {Differentiation::finite, 1e-4}}) {
    EXPECT_LT(distance(second_product(loss, {problem.w}, {v}, {problem.x}, how)[0], problem.mixed(v)), tolerance);
    EXPECT_LT(distance(second_product(loss, {problem.w}, {v}, {problem.w}, how)[0], problem.hessian(v)), tolerance);
  }
}

TEST(SecondProduct, FiniteDifferencesPutTheWeightsBack) {
  const Curved problem;
  const at::Tensor before = problem.w.detach().clone();
  second_product([&] { return problem.loss(); }, {problem.w}, {random_tensor({6}, "v")}, {problem.x},
                 Differentiation::finite);
  EXPECT_TRUE(problem.w.equal(before));
}

TEST(SecondProduct, OfZeroIsZero) {
  const Curved problem;
  for (const auto how : {Differentiation::exact, Differentiation::finite}) {
    const auto product =
        second_product([&] { return problem.loss(); }, {problem.w}, {at::zeros({6}, at::kDouble)}, {problem.x}, how);
    EXPECT_EQ(product[0].abs().sum().item<double>(), 0);
  }
}

}  // namespace
}  // namespace nascent
