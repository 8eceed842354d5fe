// Architectures scored per second for {grad, snip, grasp, trace, kappa} at batch 64 on NAS-Bench-201 networks: Nascent
// beside two plain LibTorch implementations, in the same run. Both take one pass per metric, through autograd and
// modules; they differ in the tangent kernel, whose matrix serves trace and kappa both:
//   one pass   a backward pass of all outputs, each layer's gradient split by image, as published code does it
//   per image  a backward pass for every image, which is exact
//
//   bench_score [channels] [cells per stage] [architectures] [threads]
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <iostream>

#include "layer_tape.h"
#include "nascent/core/random.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"
#include "nascent/score/scorer.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

struct PlainScores {
  double grad = 0, snip = 0, grasp = 0, trace = 0, kappa = 0;
};

enum class Jacobian { one_pass, per_image };

class PlainScorer {
 public:
  PlainScorer(const NetworkPlan& plan, TensorBatch batch, Jacobian form)
      : network_(plan, 1, "lecun"), batch_(std::move(batch)), form_(form) {
    network_.train();
    for (const auto& item : network_.named_parameters()) {
      if (item.key().ends_with("weight") && item.value().dim() > 1) weights_.push_back(item.value());
    }
  }

  PlainScores scores() { return {grad(), snip(), grasp(), std::sqrt(kernel().trace().item<double>() / 64), kappa()}; }

 private:
  at::Tensor loss() { return at::cross_entropy_loss(network_.forward(batch_.images).logits, batch_.labels); }

  std::vector<at::Tensor> gradients(const at::Tensor& y, bool create_graph = false, bool keep = false) const {
    auto found = torch::autograd::grad({y}, weights_, {}, keep || create_graph, create_graph, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i) {
      if (!found[i].defined()) found[i] = at::zeros_like(weights_[i]);
    }
    return found;
  }

  double grad() {
    double sum = 0;
    for (const auto& g : gradients(loss())) sum += g.norm().item<double>();
    return sum;
  }

  double snip() {
    const auto g = gradients(loss());
    double sum = 0;
    for (size_t i = 0; i < g.size(); ++i) sum += (g[i] * weights_[i]).abs().sum().item<double>();
    return sum;
  }

  double grasp() {
    const auto first = gradients(loss());
    const auto second = gradients(loss(), /*create_graph=*/true);
    at::Tensor product = at::zeros({});
    for (size_t i = 0; i < first.size(); ++i) product = product + (first[i] * second[i]).sum();
    const auto moved = gradients(product);
    double sum = 0;
    for (size_t i = 0; i < moved.size(); ++i) sum -= (moved[i] * weights_[i]).sum().item<double>();
    return sum;
  }

  const at::Tensor& kernel() {
    if (kernel_.defined()) return kernel_;
    const at::Tensor rows = form_ == Jacobian::one_pass ? jacobian_in_one_pass() : jacobian_by_image();
    kernel_ = at::mm(rows, rows.t());
    return kernel_;
  }

  at::Tensor true_logits() { return network_.forward(batch_.images).logits.gather(1, batch_.labels.unsqueeze(1)); }

  at::Tensor jacobian_in_one_pass() {
    const LayerTape tape;
    return LayerTape::gradients(true_logits());
  }

  at::Tensor jacobian_by_image() {
    const at::Tensor logits = true_logits();
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < logits.size(0); ++i) {
      std::vector<at::Tensor> parts;
      for (const auto& g : gradients(logits[i][0], false, true)) parts.push_back(g.reshape({-1}));
      rows.push_back(at::cat(parts));
    }
    return at::stack(rows);
  }

  double kappa() {
    const at::Tensor values = std::get<0>(at::linalg_eigh(kernel()));
    return (values[-1] / values[0]).item<double>();
  }

  Network network_;
  TensorBatch batch_;
  Jacobian form_;
  std::vector<at::Tensor> weights_;
  at::Tensor kernel_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(int channels, int cells, int count, int threads) {
  const auto space = find_space("nasbench201");
  NetworkOptions size;
  size.channels = channels;
  size.cells = cells;
  RandomStream noise(1, "bench images");
  at::Tensor images = at::empty({64, 3, 32, 32}), labels = at::empty({64}, at::kLong);
  for (int64_t i = 0; i < images.numel(); ++i) images.data_ptr<float>()[i] = static_cast<float>(noise.normal());
  for (int64_t i = 0; i < 64; ++i) labels[i] = noise.below(10);
  const TensorBatch batch{images, labels};
  std::vector<Genotype> genotypes;
  for (int i = 0; i < count; ++i) {
    RandomStream random(1, "bench architecture", {static_cast<uint64_t>(i)});
    genotypes.push_back(space->sample(random));
  }

  use_threads(threads);
  std::vector<PlainScores> plain;
  const auto plain_rate = [&](Jacobian form) {
    const EngineScope scope(Engine::reference);  // LibTorch's own operations
    plain.clear();
    const auto start = std::chrono::steady_clock::now();
    for (const auto& genotype : genotypes)
      plain.push_back(PlainScorer(plan_network(*space, genotype, size, {3, 32, 32}, 10), batch, form).scores());
    return count / seconds_since(start);
  };
  const double per_image = plain_rate(Jacobian::per_image), one_pass = plain_rate(Jacobian::one_pass);

  ScoreOptions options;
  options.cache = "none";
  Scorer scorer({.space = space, .network = size, .images = batch, .batch = 64, .classes = 10, .seed = 1}, options);
  const auto start = std::chrono::steady_clock::now();
  const ScoreColumns scores = score_all(scorer, genotypes, threads);
  const double rate = count / seconds_since(start);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    worst = std::max(worst, std::abs(scores[i].at("grad") - plain[i].grad) / std::max(1e-9, plain[i].grad));
    worst = std::max(worst, std::abs(scores[i].at("snip") - plain[i].snip) / std::max(1e-9, plain[i].snip));
  }
  // The kernel of the one pass, computed by Nascent: so both sides compute the same.
  ScoreOptions in_one_pass = options;
  in_one_pass.metrics = {"trace"};
  in_one_pass.ntk = "summed";
  Scorer same({.space = space, .network = size, .images = batch, .batch = 64, .classes = 10, .seed = 1}, in_one_pass);
  for (int i = 0; i < count; ++i)
    worst = std::max(worst, std::abs(same.scores(genotypes[i]).at("trace") - plain[i].trace) / plain[i].trace);
  std::cout << fmt::format("channels={}\ncells={}\narchitectures={}\nthreads={}\n", channels, cells, count, threads)
            << fmt::format("plain_one_pass_per_second={:.3f}\nplain_per_image_per_second={:.3f}\n", one_pass, per_image)
            << fmt::format("nascent_per_second={:.3f}\nlargest_relative_difference={:.2g}\n", rate, worst)
            << fmt::format("vs_one_pass={:.2f}\nvs_per_image={:.2f}\n", rate / one_pass, rate / per_image);
  return 0;
}

}  // namespace
}  // namespace nascent

int main(int argc, char** argv) {
  nascent::correct_blas_kernels(argv);
  nascent::keep_freed_memory();
  const auto number = [&](int i, int usual) { return argc > i ? std::atoi(argv[i]) : usual; };
  return nascent::run(number(1, 16), number(2, 5), number(3, 4), number(4, 2));
}
