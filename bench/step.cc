// Steps of search, retraining and inference on the fused engine, beside LibTorch's plain operations in the same run.
//
//   step                 all workloads: a table, then one name=value line per figure
//   step darts nasi_step only these
//   step --batch 16 ...  another batch size for all; --rounds 5 for more rounds (the median counts)
//   step --fused darts   only the fused side, for a profiler; --threads 1 for another number of threads than two
//   step --clock processor ...  time of the processor instead of the clock's, where others use the machine too
//   step --bf16 ...      only the fused engine, in float and in bf16; with --fused in bf16 alone
//   step --autocast ...  LibTorch's own bf16 as well
//   step --channels 8,24 ...  only the fused engine, by the number of channels in the first cell
//   step --serial ...    only what runs outside parallel regions, and what Amdahl's law makes of it on 16 cores
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

#include "autocast.h"
#include "machine.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/memory_estimate.h"
#include "nascent/nn/network.h"
#include "nascent/nn/threads.h"
#include "nascent/space/genotype.h"
#include "nascent/space/space.h"
#include "regions.h"
#include "timing.h"

using namespace nascent;

namespace {

// ---- what is timed

enum class Work {
  first_order,   // an architecture step and a weight step, as in first-order DARTS
  single_level,  // both gradients from one pass
  weights,       // retraining
  inference,
};

struct Workload {
  std::string name;
  std::string space;
  std::string genotype{};  // "": the supernet
  NetworkOptions network{};
  int batch = 64;
  Work work = Work::first_order;
  bool sampled = false;   // one candidate per site runs, another one each step (GDAS)
  bool autocast = false;  // compared with LibTorch's own bf16 too
};

std::vector<Workload> workloads() {
  return {
      {.name = "darts", .space = "darts", .network = {.channels = 16, .cells = 8}},
      {.name = "pcdarts", .space = "darts", .network = {.channels = 16, .cells = 8, .partial = 4}},
      {.name = "gdas_nb201", .space = "nasbench201", .network = {.channels = 16, .cells = 5}, .sampled = true},
      {.name = "darts_nb201", .space = "nasbench201", .network = {.channels = 16, .cells = 5}, .autocast = true},
      // NASI differentiates a gradient norm by finite differences: passes with both gradients.
      {.name = "nasi_step", .space = "darts-nasi", .network = {.channels = 16, .cells = 8}, .work = Work::single_level},
      {.name = "retrain",
       .space = "darts",
       .genotype = "darts-v2",
       .network = {.channels = 36, .cells = 20, .auxiliary = true},
       .batch = 96,
       .work = Work::weights,
       .autocast = true},
      {.name = "inference",
       .space = "darts",
       .genotype = "darts-v2",
       .network = {.channels = 36, .cells = 20},
       .batch = 96,
       .work = Work::inference,
       .autocast = true},
      // The training of `nascent demo`: the smallest step that people wait for.
      {.name = "demo",
       .space = "nasbench201",
       .genotype = "nasbench201:1462",
       .network = {.channels = 8, .cells = 1},
       .batch = 128,
       .work = Work::weights}};
}

class Runner {
 public:
  explicit Runner(const Workload& workload)
      : workload_(workload),
        space_(find_space(workload.space)),
        network_(workload.genotype.empty()
                     ? plan_supernet(*space_, workload.network, {3, 32, 32}, 10)
                     : plan_network(*space_, find_genotype(workload.genotype), workload.network, {3, 32, 32}, 10),
                 1),
        images_(at::randn({workload.batch, 3, 32, 32})),
        labels_(at::randint(10, {workload.batch}, at::kLong)) {
    network_.train(workload.work != Work::inference);
    if (!workload.genotype.empty()) return;
    const auto ops = static_cast<int64_t>(space_->ops().size());
    for (const CellChoices& cell : space_->cells()) {
      CellMixture& mixture = mixture_[cell.type];
      mixture.ops = at::softmax(at::randn({Space::sites(cell), ops}) * 1e-3, 1).requires_grad_();
      if (workload.network.partial > 1) {
        const auto edges = static_cast<int64_t>(Space::edges(cell).size());
        mixture.edges = at::full({edges}, 0.3).requires_grad_();
      }
    }
  }

  Network& network() { return network_; }

  void step() {
    if (workload_.sampled) sample();
    switch (workload_.work) {
      case Work::first_order:
        differentiate(architecture());
        differentiate(weights_);
        break;
      case Work::single_level: {
        std::vector<at::Tensor> both = weights_;
        for (const at::Tensor& weights : architecture()) both.push_back(weights);
        differentiate(both);
        break;
      }
      case Work::weights:
        differentiate(weights_);
        break;
      case Work::inference: {
        const at::NoGradGuard no_grad;
        network_.forward(images_);
        break;
      }
    }
  }

 private:
  void sample() {
    ++step_;
    for (auto& [type, mixture] : mixture_) {
      mixture.active.resize(mixture.ops.size(0));
      for (size_t site = 0; site < mixture.active.size(); ++site)
        mixture.active[site] = {static_cast<int>((step_ * 7 + site * 3 + 1) % mixture.ops.size(1))};
    }
  }

  std::vector<at::Tensor> architecture() const {
    std::vector<at::Tensor> tensors;
    for (const auto& [type, mixture] : mixture_) {
      tensors.push_back(mixture.ops);
      if (mixture.edges.defined()) tensors.push_back(mixture.edges);
    }
    return tensors;
  }

  void differentiate(const std::vector<at::Tensor>& by) {
    const NetworkOutput output = network_.forward(images_, {.mixture = mixture_.empty() ? nullptr : &mixture_});
    at::Tensor loss = at::cross_entropy_loss(output.logits, labels_);
    if (output.auxiliary.defined()) loss = loss + 0.4 * at::cross_entropy_loss(output.auxiliary, labels_);
    torch::autograd::grad({loss}, by, {}, {}, false, /*allow_unused=*/true);
  }

  Workload workload_;
  std::shared_ptr<const Space> space_;
  Network network_;
  std::vector<at::Tensor> weights_ = network_.parameters();
  Mixture mixture_;
  at::Tensor images_, labels_;
  int64_t step_ = 0;
};

// ---- the ways

enum class Way { fused, fused_bf16, nchw, channels_last, autocast };

void run(Runner& runner, Way way) {
  const bool fused = way == Way::fused || way == Way::fused_bf16;
  const EngineScope scope(fused ? Engine::fused : Engine::reference);
  const PrecisionScope precision(way == Way::fused_bf16 ? Precision::bf16 : Precision::single);
  const AutocastScope autocast(way == Way::autocast);
  runner.network().use_channels_last(way != Way::nchw);
  runner.step();
}

using Times = std::map<Way, double>;

// Rounds in which each way has its turn, after one that does not count.
Times measure(const Workload& workload, const std::vector<Way>& ways, int rounds) {
  Runner runner(workload);
  std::map<Way, std::vector<double>> times;
  for (int round = -1; round < rounds; ++round) {
    for (const Way way : ways) {
      const double time = seconds([&] { run(runner, way); });
      if (round >= 0) times[way].push_back(time);
    }
  }
  Times medians;
  for (const auto& [way, all] : times) medians[way] = median(all);
  return medians;
}

double measure_one(const Workload& workload, Way way, int rounds) {
  Runner runner(workload);
  run(runner, way);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) times.push_back(seconds([&] { run(runner, way); }));
  return median(times);
}

double measure_fused(const Workload& workload, int rounds) { return measure_one(workload, Way::fused, rounds); }

// Of one thread and of so many, in turns.
std::pair<double, double> measure_threads(const Workload& workload, int rounds, int threads) {
  Runner runner(workload);
  std::vector<double> one, all;
  for (int round = -1; round < rounds; ++round) {
    for (auto* times : {&one, &all}) {
      use_threads(times == &one ? 1 : threads);
      const double time = seconds([&] { run(runner, Way::fused); });
      if (round >= 0) times->push_back(time);
    }
  }
  return {median(one), median(all)};
}

// Of networks with so many channels in their first cell, in turns.
std::map<int, double> measure_channels(Workload workload, const std::vector<int>& channels, int rounds) {
  std::map<int, std::vector<double>> times;
  std::map<int, std::unique_ptr<Runner>> runners;
  for (const int count : channels) {
    workload.network.channels = count;
    runners[count] = std::make_unique<Runner>(workload);
  }
  for (int round = -1; round < rounds; ++round) {
    for (const auto& [count, runner] : runners) {
      const double time = seconds([&, &runner = *runner] { run(runner, Way::fused); });
      if (round >= 0) times[count].push_back(time);
    }
  }
  std::map<int, double> medians;
  for (const auto& [count, all] : times) medians[count] = median(all);
  return medians;
}

// What a step of the fused engine does outside parallel regions, and how many of these it passes through.
struct SerialPart {
  double milliseconds, share, regions;
};

SerialPart measure_serial(const Workload& workload, int rounds) {
  Runner runner(workload);
  run(runner, Way::fused);
  std::vector<double> outside, shares, regions;
  for (int round = 0; round < rounds; ++round) {
    const Regions before = parallel_regions();
    const double time = seconds([&] { run(runner, Way::fused); });
    const Regions after = parallel_regions();
    outside.push_back(time - (after.seconds - before.seconds));
    shares.push_back(outside.back() / time);
    regions.push_back(after.count - before.count);
  }
  return {1e3 * median(outside), median(shares), median(regions)};
}

// Peak memory of a process that does two steps and nothing else, in GB.
double peak_memory(const Workload& workload, Way way) {
  const pid_t child = fork();
  if (child == 0) {
    Runner runner(workload);
    run(runner, way);
    run(runner, way);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

// ---- what a step does

// Multiply-adds of a step: a forward pass counts once, gradients of states once more, gradients of weights once more.
double step_flops(const Workload& workload, const NetworkPlan& plan) {
  const double forward = 2.0 * static_cast<double>(count_multiply_adds(plan)) * workload.batch;
  switch (workload.work) {
    case Work::first_order:
      return 5 * forward;
    case Work::single_level:
    case Work::weights:
      return 3 * forward;
    case Work::inference:
      return forward;
  }
  return forward;
}

// Bytes that a step moves to and from memory at least: what is kept is written once and read by the mixture, by the
// sums that batch norm's gradient needs, and by that gradient. Nothing is kept in inference.
double step_bytes(const Workload& workload, const NetworkPlan& plan) {
  const double kept = estimate_memory(plan, workload.batch, Engine::fused).activations;
  switch (workload.work) {
    case Work::first_order:
      return 2 * 4 * kept;
    case Work::single_level:
    case Work::weights:
      return 4 * kept;
    case Work::inference:
      return 0;
  }
  return 0;
}

// What a cell keeps from the forward pass to the backward one, and what cells hand on.
double kept_bytes(const Workload& workload, Precision precision) {
  const PrecisionScope scope(precision);
  return estimate_memory(Runner(workload).network().plan(), workload.batch, Engine::fused).activations;
}

// "8,24"
std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoi(number));
  return numbers;
}

std::string share(double part, double whole) { return part > 0 ? fmt::format("{:.0f}%", 100 * part / whole) : "–"; }

}  // namespace

int main(int argc, char** argv) {
  correct_blas_kernels(argv);
  keep_freed_memory();
  int batch = 0, rounds = 3, threads = 2;
  std::vector<int> channels;
  bool only_fused = false, only_bf16 = false, with_autocast = false, only_serial = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--batch") && i + 1 < argc) {
      batch = std::atoi(argv[++i]);
    } else if (!std::strcmp(argv[i], "--rounds") && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (!std::strcmp(argv[i], "--threads") && i + 1 < argc) {
      threads = std::max(1, std::atoi(argv[++i]));
    } else if (!std::strcmp(argv[i], "--channels") && i + 1 < argc) {
      channels = numbers_in(argv[++i]);
    } else if (!std::strcmp(argv[i], "--fused")) {
      only_fused = true;
    } else if (!std::strcmp(argv[i], "--bf16")) {
      only_bf16 = true;
    } else if (!std::strcmp(argv[i], "--autocast")) {
      with_autocast = true;
    } else if (!std::strcmp(argv[i], "--clock") && i + 1 < argc) {
      processor_time = !std::strcmp(argv[++i], "processor");
    } else if (!std::strcmp(argv[i], "--serial")) {
      only_serial = true;
    } else {
      names.emplace_back(argv[i]);
    }
  }
  const auto chosen = [&](const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> figures, in_bf16;
  const auto figure = [&](const std::string& name, double value) {
    figures.push_back(fmt::format("{}={:.2f}", name, value));
  };

  const auto print_serial = [&] {
    constexpr int kCores = 16;
    fmt::print("{:<14}{:>12}{:>12}{:>12}{:>26}\n", "step", "serial ms", "of the step", "regions",
               fmt::format("on {} cores, of {}", kCores, threads));
    for (Workload workload : workloads()) {
      if (!chosen(workload.name)) continue;
      if (batch > 0) workload.batch = batch;
      const SerialPart serial = measure_serial(workload, rounds);
      fmt::print("{:<14}{:>12.2f}{:>11.2f}%{:>12.0f}{:>25.1f}x\n", workload.name, serial.milliseconds,
                 100 * serial.share, serial.regions, predicted_speedup(serial.share, threads, kCores));
      figure(workload.name + "_serial_percent", 100 * serial.share);
    }
  };
  const auto print_figures = [&] {
    for (const std::string& line : figures) fmt::print("{}\n", line);
  };

  if (!channels.empty()) {
    use_threads(threads);
    fmt::print("{:<14}{:>10}{:>10}{:>10}\n", "step", "channels", "s", "GFLOP/s");
    for (Workload workload : workloads()) {
      if (!chosen(workload.name)) continue;
      if (batch > 0) workload.batch = batch;
      for (const auto& [count, time] : measure_channels(workload, channels, rounds)) {
        workload.network.channels = count;
        const double rate = step_flops(workload, Runner(workload).network().plan()) / time / 1e9;
        fmt::print("{:<14}{:>10}{:>10.3f}{:>10.1f}\n", workload.name, count, time, rate);
        figure(fmt::format("{}_{}_channels_gflops", workload.name, count), rate);
      }
    }
    fmt::print("\n");
    print_figures();
    return 0;
  }
  if (only_serial) {
    use_threads(threads);
    print_serial();
    fmt::print("\n");
    print_figures();
    return 0;
  }
  if (only_fused) {
    use_threads(threads);
    for (Workload workload : workloads()) {
      if (!chosen(workload.name)) continue;
      if (batch > 0) workload.batch = batch;
      fmt::print("{:<14}{:>10.3f} s\n", workload.name,
                 measure_one(workload, only_bf16 ? Way::fused_bf16 : Way::fused, rounds));
    }
    return 0;
  }

  // Memory first: a child starts with what this process already holds.
  Workload darts = workloads().front();
  if (batch > 0) darts.batch = batch;
  if (chosen("memory")) {
    const double fused = peak_memory(darts, Way::fused), bf16 = peak_memory(darts, Way::fused_bf16);
    fmt::print("Peak memory of a DARTS step: fused {:.2f} GB, in bf16 {:.2f} GB", fused, bf16);
    if (!only_bf16) {
      const double plain = peak_memory(darts, Way::nchw);
      fmt::print(", plain {:.2f} GB", plain);
      figure("darts_memory_ratio", plain / fused);
    }
    fmt::print("\n");
    const double kept = kept_bytes(darts, Precision::single), kept_bf16 = kept_bytes(darts, Precision::bf16);
    fmt::print("Kept for its backward pass: {:.2f} GB, in bf16 {:.2f} GB\n\n", kept / 1e9, kept_bf16 / 1e9);
    figure("darts_bf16_kept_share", kept_bf16 / kept);
  }

  const double peak = fma_peak(threads), bandwidth = stream_bandwidth(threads);
  use_threads(threads);
  fmt::print("{}\n", describe_engine());
  fmt::print("multiply-adds at most {:.0f} GFLOP/s, STREAM triad {:.1f} GB/s\n\n", peak, bandwidth);
  if (!only_bf16)
    fmt::print("{:<14}{:>10}{:>12}{:>16}{:>10}{:>12}{:>10}{:>15}\n", "step", "fused s", "plain NCHW", "channels last",
               "vs NCHW", "vs best", "of peak", "of bandwidth");
  for (Workload workload : workloads()) {
    if (!chosen(workload.name)) continue;
    if (batch > 0) workload.batch = batch;
    std::vector<Way> ways = {Way::fused, Way::fused_bf16};
    if (!only_bf16) ways.insert(ways.end(), {Way::nchw, Way::channels_last});
    const bool autocasts = with_autocast && workload.autocast;
    if (autocasts) ways.push_back(Way::autocast);
    Times times = measure(workload, ways, rounds);
    const double fused = times[Way::fused], bf16 = times[Way::fused_bf16];
    in_bf16.push_back(fmt::format("{:<14}{:>10.3f}{:>12.3f}{:>13.2f}x", workload.name, fused, bf16, fused / bf16));
    figure(workload.name + "_bf16_vs_float", fused / bf16);
    if (autocasts) {
      const double autocast = times[Way::autocast];
      in_bf16.back() += fmt::format("{:>14.3f}{:>13.2f}x", autocast, autocast / bf16);
      figure(workload.name + "_bf16_vs_autocast", autocast / bf16);
    }
    if (only_bf16) continue;
    const double nchw = times[Way::nchw], best_plain = std::min(nchw, times[Way::channels_last]);
    // Of a step that runs one candidate per site the plan does not tell what it does.
    const NetworkPlan plan = Runner(workload).network().plan();
    const double flops = workload.sampled ? 0 : step_flops(workload, plan);
    const double bytes = workload.sampled ? 0 : step_bytes(workload, plan);
    fmt::print("{:<14}{:>10.3f}{:>12.3f}{:>16.3f}{:>9.1f}x{:>11.1f}x{:>10}{:>15}\n", workload.name, fused, nchw,
               times[Way::channels_last], nchw / fused, best_plain / fused, share(flops / fused / 1e9, peak),
               share(bytes / fused / 1e9, bandwidth));
    std::fflush(stdout);
    const bool derived = !workload.genotype.empty();
    if (!derived) figure(workload.name + "_vs_nchw", nchw / fused);
    if (derived || workload.name == "darts") figure(workload.name + "_vs_best_plain", best_plain / fused);
  }
  fmt::print("\n{:<14}{:>10}{:>12}{:>14}{:>14}{:>14}\n", "step", "float s", "bf16 s", "vs float", "autocast s",
             "vs autocast");
  for (const std::string& line : in_bf16) fmt::print("{}\n", line);
  if (chosen("scaling")) {
    const auto [one, all] = measure_threads(darts, rounds, threads);
    fmt::print("\nDARTS step, fused: 1 thread {:.3f} s, {} threads {:.3f} s\n", one, threads, all);
    figure(fmt::format("threads_{}_vs_1", threads), one / all);
    for (const int images : {darts.batch / 4, darts.batch / 2, darts.batch}) {
      Workload smaller = darts;
      smaller.batch = images;
      fmt::print("  batch {:>3}: {:.2f} ms an image\n", images, 1e3 * measure_fused(smaller, rounds) / images);
    }
    for (const int cells : {5, 8, 14}) {
      Workload other = darts;
      other.network.cells = cells;
      fmt::print("  {:>2} cells: {:.1f} ms a cell\n", cells, 1e3 * measure_fused(other, rounds) / cells);
    }
  }
  fmt::print("\n");
  if (!only_bf16) {
    print_serial();
    fmt::print("\n");
  }
  print_figures();
}
