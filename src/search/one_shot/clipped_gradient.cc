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
    auto [gradients, loss, top1] = problem_.mean([&](const Shard& shard) { return of_shard(step, shard); });
    ArchitectureGradientResult result{std::move(gradients), loss, top1};
    add_penalty(step.place, result);
    return result;
  }

 private:
  OneShotLoss::Scored of_shard(const ArchitectureStep& step, const Shard& shard) {
    const Mixture mixture = problem_.relaxation().mixture(problem_.place_of(shard, step.place));
    const int64_t images = shard.of(step.valid).labels.size(0);
    // Every image gets a copy of the operations' weights, so that one backward pass tells their gradients apart. Edges
    // are weighted for the whole shard: it is the mean of their gradients that is clipped.
    Mixture per_image = mixture;
    Tensors outputs, copies;
    for (auto& [type, cell] : per_image) {
      outputs.push_back(cell.ops);
      cell.ops = cell.ops.detach().unsqueeze(-1).repeat({1, 1, images}).requires_grad_();
      copies.push_back(cell.ops);
      if (!cell.edges.defined()) continue;
      outputs.push_back(cell.edges);
      cell.edges = cell.edges.detach().clone().requires_grad_();
      copies.push_back(cell.edges);
    }
    const auto loss = problem_.loss(step.valid, per_image, step.place, shard);
    Tensors clipped = dense_gradients(loss.value, copies);
    for (auto& part : clipped) {
      // The loss is a mean: times the number of images, each column is the gradient of that image's own loss.
      if (part.dim() == 3) part = (part * static_cast<double>(images)).clamp(-bound_, bound_).mean(-1);
      part = part.clamp(-bound_, bound_);
    }
    return {torch::autograd::grad(outputs, problem_.architecture(), clipped, c10::nullopt, false,
                                  /*allow_unused=*/true),
            loss.value.item<double>(), loss.top1};
  }

  // Penalties are no sum over images: nothing of theirs is clipped here.
  void add_penalty(const SearchPlace& place, ArchitectureGradientResult& result) {
    const at::Tensor penalty = problem_.penalty(place);
    const Tensors more = gradients(penalty, problem_.architecture());
    for (size_t i = 0; i < more.size(); ++i) {
      if (!more[i].defined()) continue;
      result.gradients[i] = result.gradients[i].defined() ? result.gradients[i] + more[i] : more[i];
    }
    result.loss += penalty.item<double>();
  }

  OneShotLoss& problem_;
  double bound_;
};

NASCENT_REGISTER(
    ArchitectureGradient, "clipped", "first order, with every image's contribution clipped (XNAS)",
    [](const GradientSetup& setup) { return std::make_unique<ClippedGradient>(setup); },
    GradientFacts{.reads = {"search.bound"}, .bilevel = true});

}  // namespace
}  // namespace nascent
