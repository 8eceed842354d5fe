// What analyses cost, beside the plain way in the same run: points of a loss landscape, gradients of single images,
// products with the Hessian, and the topology of a whole space.
//
//   bench_analysis               everything in about two minutes: a line as each is done, then one name=value line per
//                                figure
//   bench_analysis --rounds 5    more rounds (the median counts); --threads 1
//   bench_analysis --only NAME   one of memory, landscape, variance, hessian, topology
//   bench_analysis --clock processor   the time of all threads, for busy machines
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

#include "nascent/analysis/gradient_variance.h"
#include "nascent/analysis/spectrum.h"
#include "nascent/analysis/topology.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"
#include "nascent/space/space.h"
#include "nascent/train/loss.h"
#include "timing.h"

using namespace nascent;

namespace {

constexpr int kBatch = 64;
constexpr int kSingles = 16;  // images that are differentiated one by one: each is a measurement of its own

// Ways in turns, so that what else the machine does hits all alike; the first round warms up.
std::vector<double> medians(const std::vector<std::function<void()>>& ways, int rounds) {
  std::vector<std::vector<double>> times(ways.size());
  for (int round = -1; round < rounds; ++round) {
    for (size_t w = 0; w < ways.size(); ++w) {
      const double time = seconds(ways[w]);
      if (round >= 0) times[w].push_back(time);
    }
  }
  std::vector<double> middle;
  for (auto& list : times) middle.push_back(median(std::move(list)));
  return middle;
}

// DARTS_V2 of 8 cells and 16 channels, as the experiments train it, and images of CIFAR-10's size.
struct Workload {
  std::shared_ptr<Network> network;
  ImageBatches images;

  explicit Workload(int64_t count) {
    network = std::make_shared<Network>(
        plan_network(*find_space("darts"), find_genotype("darts-v2"), {.channels = 16, .cells = 8}, {3, 32, 32}, 10),
        1);
    network->eval();
    at::manual_seed(1);
    for (int64_t done = 0; done < count; done += kBatch) {
      images.push_back({at::randn({kBatch, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast),
                        at::randint(10, {kBatch}, at::kLong)});
    }
  }
};

// A point of the landscape: weights moved in place, all images evaluated.
void landscape_point(Workload& workload, WeightPlane& plane, const Direction& first, const Direction& second,
                     Engine engine, bool channels_last) {
  const EngineScope scope(engine);
  workload.network->use_channels_last(channels_last);
  plane.move({&first, &second}, {0.1, -0.2});
  evaluate_batches(*workload.network, workload.images);
}

// Of the first kSingles images.
void single_backward_passes(Workload& workload, Engine engine, bool channels_last) {
  const EngineScope scope(engine);
  workload.network->use_channels_last(channels_last);
  const Tensors parameters = workload.network->parameters();
  std::vector<at::Tensor> mean(parameters.size());
  double squares = 0;
  const TensorBatch& batch = workload.images.front();
  for (int64_t i = 0; i < kSingles; ++i) {
    const at::Tensor logits = workload.network->forward(batch.images.narrow(0, i, 1)).logits;
    const Tensors found = gradients(classification_loss(logits, batch.labels.narrow(0, i, 1)), parameters);
    for (size_t p = 0; p < found.size(); ++p) {
      if (!found[p].defined()) continue;
      squares += found[p].square().sum().item<double>();
      mean[p] = mean[p].defined() ? mean[p].add_(found[p]) : found[p].clone();
    }
  }
  if (squares < 0) fmt::print("impossible\n");
}

// Peak memory of a process that measures the variance of so many images and does nothing else, in GB.
double variance_memory(int64_t images) {
  const pid_t child = fork();
  if (child == 0) {
    Workload workload(images);
    gradient_variance(*workload.network, workload.images);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

double topology_seconds(int rounds) {
  const auto space = find_space("nasbench201");
  return medians({[&] {
                   double depth = 0;
                   for (int64_t i = 0; i < 15625; ++i)
                     depth += topology_of(space->at(static_cast<double>(i)).cells.front()).depth;
                   if (depth <= 0) fmt::print("impossible\n");
                 }},
                 rounds)[0];
}

using Figure = std::function<void(const std::string& name, double value)>;

void measure_landscape(int rounds, int threads, const Figure& figure) {
  Workload workload(512);
  WeightPlane plane(*workload.network);
  const Direction first = random_direction(*workload.network, 1, 0), second = random_direction(*workload.network, 1, 1);
  const auto point = [&](Engine engine, bool last) {
    return [&, engine, last] { landscape_point(workload, plane, first, second, engine, last); };
  };
  const auto times =
      medians({point(Engine::fused, true), point(Engine::reference, false), point(Engine::reference, true)}, rounds);
  const double plain = std::min(times[1], times[2]);
  fmt::print("a point of 512 images       {:.3f} s, plain NCHW {:.3f} s, channels last {:.3f} s: {:.2f}x\n", times[0],
             times[1], times[2], plain / times[0]);
  figure("landscape_vs_best_plain", plain / times[0]);
  figure("landscape_points_a_second", 1 / times[0]);
  std::vector<double> by_threads;
  for (const int count : {1, threads}) {
    use_threads(count);
    by_threads.push_back(medians({point(Engine::fused, true)}, rounds)[0]);
  }
  fmt::print("on {} threads and on 1       {:.3f} s, {:.3f} s: {:.2f}x\n", threads, by_threads[1], by_threads[0],
             by_threads[0] / by_threads[1]);
  figure(fmt::format("landscape_threads_{}_vs_1", threads), by_threads[0] / by_threads[1]);
}

void measure_variance(int rounds, int, const Figure& figure) {
  Workload workload(128);
  workload.network->use_channels_last(true);
  const auto times = medians({[&] { gradient_variance(*workload.network, workload.images); },
                              [&] { single_backward_passes(workload, Engine::reference, false); },
                              [&] { single_backward_passes(workload, Engine::reference, true); },
                              [&] { single_backward_passes(workload, Engine::fused, true); }},
                             rounds);
  const double singles = 128.0 / kSingles, plain = singles * std::min(times[1], times[2]), fused = singles * times[3];
  fmt::print(
      "variance of 128 images      {:.3f} s, image by image NCHW {:.3f} s, channels last {:.3f} s: {:.1f}x, fused "
      "{:.3f} s: {:.1f}x\n",
      times[0], singles * times[1], singles * times[2], plain / times[0], fused, fused / times[0]);
  figure("variance_vs_single_images", plain / times[0]);
  figure("variance_vs_single_images_nchw", singles * times[1] / times[0]);
  figure("variance_vs_single_images_fused", fused / times[0]);
}

void measure_hessian(int rounds, int, const Figure& figure) {
  Workload workload(kBatch);  // products cost alike for every batch
  workload.network->use_channels_last(true);
  const HessianOperator finite(*workload.network, workload.images, Differentiation::finite),
      exact(*workload.network, workload.images, Differentiation::exact);
  const at::Tensor vector = at::randn({finite.size()}, at::kDouble);
  const auto products = medians({[&] { finite(vector); }, [&] { exact(vector); }}, rounds);
  fmt::print("a product with the Hessian  {:.3f} s, by double backward {:.3f} s: {:.2f}x\n", products[0], products[1],
             products[1] / products[0]);
  figure("hessian_product_vs_plain", products[1] / products[0]);
}

void measure_topology(int rounds, int, const Figure& figure) {
  const double topology = topology_seconds(rounds);
  fmt::print("topology of 15 625 cells    {:.3f} s\n", topology);
  figure("topology_of_nasbench201_seconds", topology);
}

}  // namespace

int main(int argc, char** argv) {
  correct_blas_kernels(argv);
  keep_freed_memory();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  int rounds = 3, threads = 2;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--rounds")) rounds = std::max(1, std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--threads")) threads = std::max(1, std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--clock")) processor_time = !std::strcmp(argv[i + 1], "processor");
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
  }
  std::vector<std::string> figures;
  const auto figure = [&](const std::string& name, double value) {
    figures.push_back(fmt::format("{}={:.3g}", name, value));
  };
  // Memory first: a child starts with what this process already holds, and without threads of ours.
  if (only.empty() || only == "memory") {
    const double few = variance_memory(64), many = variance_memory(512);
    fmt::print("Peak memory of the gradient variance: 64 images {:.2f} GB, 512 images {:.2f} GB\n\n", few, many);
    figure("variance_memory_512_vs_64_images", many / few);
  }

  use_threads(threads);
  fmt::print("{}\n\n", describe_engine());
  using Measure = void (*)(int rounds, int threads, const Figure& figure);
  const std::vector<std::pair<std::string, Measure>> measures = {{"landscape", measure_landscape},
                                                                 {"variance", measure_variance},
                                                                 {"hessian", measure_hessian},
                                                                 {"topology", measure_topology}};
  for (const auto& [name, measure] : measures) {
    if (only.empty() || only == name) measure(rounds, threads, figure);
    use_threads(threads);
  }
  fmt::print("\n");
  for (const std::string& line : figures) fmt::print("{}\n", line);
}
