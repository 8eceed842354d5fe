// First-order gradient with the contribution of every image clipped before the mean is taken (XNAS; GAEA, C.4).
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "nascent/search/one_shot/gradient.h"

namespace nascent {
namespace {

class ClippedGradient : public ArchitectureGradient {
 public:
  explicit ClippedGradient(const GradientSetup& setup) : problem_(setup.problem), bound_(setup.options.bound) {}

  ArchitectureGradientResult compute(const ArchitectureStep& step) override {
    const Mixture mixture = problem_.relaxation().mixture(step.place);
    const int64_t images = step.valid.labels.size(0);
    // Every image gets a copy of the weights, so that one backward pass tells their gradients apart.
    Mixture per_image = mixture;
    Tensors copies;
    for (auto& [type, cell] : per_image) {
      cell.ops = cell.ops.detach().unsqueeze(-1).repeat({1, 1, images}).requires_grad_();
      if (cell.edges.defined()) cell.edges = cell.edges.detach();
      copies.push_back(cell.ops);
    }
    const auto loss = problem_.loss(step.valid, per_image);
    const Tensors of_images = dense_gradients(loss.value, copies);

    Tensors outputs, clipped;
    for (const auto& [type, cell] : mixture) {
      // The loss is a mean: times the number of images, each column is the gradient of that image's own loss.
      const at::Tensor each = of_images[outputs.size()] * static_cast<double>(images);
      clipped.push_back(each.clamp(-bound_, bound_).mean(-1));
      outputs.push_back(cell.ops);
    }
    ArchitectureGradientResult result{{}, loss.value.item<double>(), loss.top1};
    result.gradients =
        torch::autograd::grad(outputs, problem_.architecture(), clipped, c10::nullopt, false, /*allow_unused=*/true);
    return result;
  }

 private:
  OneShotLoss& problem_;
  double bound_;
};

NASCENT_REGISTER(ArchitectureGradient, "clipped", "first order, with every image's contribution clipped (XNAS)",
                 [](const GradientSetup& setup) { return std::make_unique<ClippedGradient>(setup); });

}  // namespace
}  // namespace nascent
