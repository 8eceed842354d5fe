// How far the gradients of whole supernets in bf16 are from those in float: cosines, at initialisation and after some
// training, for noise and for CIFAR-10 where it is found.
//
//   bench_gradients                  all supernets: a table, then one name=value line per figure
//   bench_gradients darts            only these
//   bench_gradients --steps 50       training steps in between; --images 64 for larger batches; --threads 1
//   bench_gradients --autocast       LibTorch's own bf16 as well
//
// Beside them stand the gradients of float arithmetic alone, on images that were rounded to bf16: one rounding at the
// very beginning. What it costs, no way of storing a network's activations in bf16 can save.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "autocast.h"
#include "nascent/core/error.h"
#include "nascent/data/data_options.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/network.h"
#include "nascent/nn/threads.h"
#include "nascent/space/space.h"
#include "nascent/train/evaluate.h"

using namespace nascent;

namespace {

struct Supernet {
  std::string name, space;
  NetworkOptions network;
};

std::vector<Supernet> supernets() {
  return {{"darts", "darts", {.channels = 16, .cells = 8}},
          {"pcdarts", "darts", {.channels = 16, .cells = 8, .partial = 4}},
          {"darts_nb201", "nasbench201", {.channels = 16, .cells = 5}}};
}

enum class Way { single, bf16, rounded_images, autocast };

struct Gradients {
  at::Tensor weights, architecture;  // each as one vector
};

at::Tensor as_one(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.to(at::kDouble).reshape({-1}));
  return at::cat(parts);
}

double cosine(const at::Tensor& a, const at::Tensor& b) { return (a.dot(b) / (a.norm() * b.norm())).item<double>(); }

class Study {
 public:
  explicit Study(const Supernet& supernet)
      : space_(find_space(supernet.space)), network_(plan_supernet(*space_, supernet.network, {3, 32, 32}, 10), 1) {
    network_.train();
    const auto ops = static_cast<int64_t>(space_->ops().size());
    for (const CellChoices& cell : space_->cells()) {
      CellMixture& mixture = mixture_[cell.type];
      mixture.ops = at::softmax(at::randn({Space::sites(cell), ops}) * 1e-3, 1).requires_grad_();
      if (supernet.network.partial > 1) {
        const auto edges = static_cast<int64_t>(Space::edges(cell).size());
        mixture.edges = at::full({edges}, 0.3).requires_grad_();
      }
    }
  }

  Gradients gradients(const TensorBatch& batch, Way way) {
    const EngineScope engine(way == Way::autocast ? Engine::reference : Engine::fused);
    const PrecisionScope precision(way == Way::bf16 ? Precision::bf16 : Precision::single);
    const AutocastScope autocast(way == Way::autocast);
    const bool rounded = way == Way::rounded_images;
    const at::Tensor images = rounded ? batch.images.to(at::kBFloat16).to(at::kFloat) : batch.images;
    const std::vector<at::Tensor> weights = network_.parameters(), all = with_architecture(weights);
    const std::vector<at::Tensor> found = differentiate(images, batch.labels, all);
    const auto first = found.begin(), middle = first + static_cast<int64_t>(weights.size());
    return {as_one({first, middle}), as_one({middle, found.end()})};
  }

  // By gradient descent with momentum, as searches train weights.
  void train(const std::vector<TensorBatch>& batches) {
    constexpr double kRate = 0.025, kMomentum = 0.9;
    std::vector<at::Tensor> momentum;
    for (const at::Tensor& weights : network_.parameters()) momentum.push_back(at::zeros_like(weights));
    for (const TensorBatch& batch : batches) {
      const std::vector<at::Tensor> weights = network_.parameters();
      const std::vector<at::Tensor> found = differentiate(batch.images, batch.labels, weights);
      const at::NoGradGuard no_grad;
      for (size_t i = 0; i < weights.size(); ++i) {
        momentum[i].mul_(kMomentum).add_(found[i]);
        at::Tensor(weights[i]).sub_(momentum[i], kRate);
      }
    }
  }

 private:
  std::vector<at::Tensor> with_architecture(std::vector<at::Tensor> tensors) const {
    for (const auto& [type, mixture] : mixture_) {
      tensors.push_back(mixture.ops);
      if (mixture.edges.defined()) tensors.push_back(mixture.edges);
    }
    return tensors;
  }

  std::vector<at::Tensor> differentiate(const at::Tensor& images, const at::Tensor& labels,
                                        const std::vector<at::Tensor>& by) {
    const at::Tensor logits = network_.forward(images, {.mixture = &mixture_}).logits;
    std::vector<at::Tensor> found = torch::autograd::grad({at::cross_entropy_loss(logits.to(at::kFloat), labels)}, by,
                                                          {}, {}, false, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) found[i] = at::zeros_like(by[i]);
    }
    return found;
  }

  std::shared_ptr<const Space> space_;
  Network network_;
  Mixture mixture_;
};

std::vector<TensorBatch> noise(int count, int64_t images) {
  std::vector<TensorBatch> batches;
  for (int i = 0; i < count; ++i)
    batches.push_back({at::randn({images, 3, 32, 32}), at::randint(10, {images}, at::kLong)});
  return batches;
}

// Empty where the data set is not found.
std::vector<TensorBatch> cifar(int count, int images) {
  DataOptions options;
  options.name = "cifar10";
  options.batch = images;
  try {
    const ImageData data(options, 1);
    const auto loader = data.training(data.split().train, "train");
    loader->start(0);
    std::vector<TensorBatch> batches;
    while (static_cast<int>(batches.size()) < count) batches.push_back(to_tensors(std::move(*loader->next())));
    return batches;
  } catch (const Error& error) {
    fmt::print("Without CIFAR-10: {}\n", error.what());
    return {};
  }
}

}  // namespace

int main(int argc, char** argv) {
  correct_blas_kernels(argv);
  keep_freed_memory();
  int steps = 30, images = 16, threads = 2;
  bool with_autocast = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&](const char* name, int& to) {
      if (std::strcmp(argv[i], name) != 0 || i + 1 == argc) return false;
      to = std::max(1, std::atoi(argv[++i]));
      return true;
    };
    if (number("--steps", steps) || number("--images", images) || number("--threads", threads)) continue;
    if (!std::strcmp(argv[i], "--autocast")) {
      with_autocast = true;
    } else {
      names.emplace_back(argv[i]);
    }
  }
  use_threads(threads);
  at::manual_seed(1);
  fmt::print(
      "{}\nCosine to the gradients in float, {} images: of the weights / of the architecture\n\n{:<14}{:<8}{:<10}",
      describe_engine(), images, "supernet", "images", "steps");
  fmt::print("{:>18}{:>18}{:>18}\n", "bf16", "rounded images", with_autocast ? "autocast" : "");
  std::vector<std::string> figures;
  for (const Supernet& supernet : supernets()) {
    if (!names.empty() && std::find(names.begin(), names.end(), supernet.name) == names.end()) continue;
    for (const bool real : {false, true}) {
      const std::vector<TensorBatch> batches = real ? cifar(steps + 1, images) : noise(steps + 1, images);
      if (batches.empty()) continue;
      Study study(supernet);
      for (const bool trained : {false, true}) {
        if (trained) study.train({batches.begin() + 1, batches.end()});
        const Gradients truth = study.gradients(batches[0], Way::single);
        fmt::print("{:<14}{:<8}{:<10}", supernet.name, real ? "CIFAR" : "noise", trained ? steps : 0);
        const auto compare = [&](Way way, const std::string& name) {
          const Gradients found = study.gradients(batches[0], way);
          const double weights = cosine(found.weights, truth.weights);
          const double architecture = cosine(found.architecture, truth.architecture);
          fmt::print("{:>18}", fmt::format("{:.4f} / {:.4f}", weights, architecture));
          const std::string where =
              fmt::format("{}_{}_{}", supernet.name, real ? "cifar" : "noise", trained ? steps : 0);
          figures.push_back(fmt::format("{}_{}_cosine={:.4f}", where, name, weights));
        };
        compare(Way::bf16, "bf16");
        compare(Way::rounded_images, "rounded_images");
        if (with_autocast) compare(Way::autocast, "autocast");
        fmt::print("\n");
        std::fflush(stdout);
      }
    }
  }
  fmt::print("\n");
  for (const std::string& line : figures) fmt::print("{}\n", line);
}
