// Shu's thesis, Theorem 7.4: the tangent kernel of wide and deep linear networks.
#include <ATen/ATen.h>

#include <cmath>

#include "nascent/analysis/linear_cells.h"
#include "nascent/analysis/theory.h"
#include "nascent/score/probe.h"

namespace nascent::theory_tangent_kernel {
namespace {

constexpr int kSize = 4, kLayers = 3, kImages = 3, kFewestForMean = 30;

TheoryResult tangent_kernel_theory(const TheoryOptions& options) {
  const at::Tensor images = orthonormal_images(kImages, kSize, options.seed);
  const NetworkPlan wide = vector_network(kSize, std::vector<Stages>(kLayers, {stage::conv(kSize, kSize, 1)}), kSize);
  const NetworkPlan deep = vector_network(kSize, {Stages(kLayers, stage::conv(kSize, kSize, 1))}, kSize);
  TheoryClaim identity{"wide: kernel is L n I", "largest error", "1e-9"};
  TheoryClaim condition{"deep: condition number above 1", "condition number", "1.01", TheoryClaim::Relation::at_least};
  at::Tensor mean = at::zeros({kImages, kImages}, at::kDouble), squares = at::zeros_like(mean);
  const at::Tensor eye = at::eye(kImages, at::kDouble);
  for (int draw = 0; draw < options.draws; ++draw) {
    const uint64_t seed = options.seed * 1000003 + static_cast<uint64_t>(draw);
    const at::Tensor flat = tangent_kernel(standard_network(wide, seed), images).hidden;
    identity.add((flat - eye * kLayers * kSize).abs().max().item<double>(), 1e-9);
    const at::Tensor kernel = tangent_kernel(standard_network(deep, seed), images).hidden;
    const std::vector<double> eigenvalues = symmetric_eigenvalues(kernel);
    condition.add(eigenvalues.back() / eigenvalues.front(), 1.01);
    mean += kernel / options.draws;
    squares += kernel.square() / options.draws;
  }
  TheoryResult result{.statement =
                          "Theorem 7.4: the tangent kernel of the wide linear network is L n I, that of the deep "
                          "one L n^L I in expectation only",
                      .claims = {identity, condition}};
  // The mean of so many kernels, against its own standard error; of a few draws that is none.
  TheoryClaim expectation{"deep: mean kernel is L n^L I", "error in standard errors", "4.5"};
  const at::Tensor error = ((squares - mean.square()).clamp_min(0) / options.draws).sqrt();
  const double expected = kLayers * std::pow(kSize, kLayers);
  expectation.add(((mean - eye * expected).abs() / error).max().item<double>(), 4.5);
  if (options.draws >= kFewestForMean) result.claims.insert(result.claims.begin() + 1, expectation);
  result.numbers["expected"] = expected;
  result.numbers["mean_diagonal"] = mean.diagonal().mean().item<double>();
  result.notes.emplace_back(
      fmt::format("L = {}, n = {}, {} orthonormal inputs; L n^L = {}, the mean of the draws {:.1f}", kLayers, kSize,
                  kImages, expected, mean.diagonal().mean().item<double>()));
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "tangent-kernel", "kernels of wide and deep linear networks (thesis, Theorem 7.4)",
                 tangent_kernel_theory);

}  // namespace nascent::theory_tangent_kernel
