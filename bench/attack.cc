// Attacks on the fused engine, beside LibTorch's plain operations in the same run: ten steps of PGD, and Square's
// queries.
//
//   bench_attack                 everything: a table, then one name=value line per figure
//   bench_attack --rounds 5      more rounds (the median counts); --batch 16 for other batches; --threads 1
//   bench_attack --only square   times of one attack alone
//   bench_attack --clock processor   the time of all threads, for busy machines
#include "nascent/attack/attack.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <optional>

#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"
#include "nascent/space/space.h"
#include "timing.h"

using namespace nascent;

namespace {

struct Workload {
  std::string name, space, genotype, attack;
  NetworkOptions network;
  int steps = 10;    // of PGD
  int queries = 20;  // of Square
};

std::vector<Workload> workloads() {
  const NetworkOptions darts{.channels = 16, .cells = 8}, nasbench{.channels = 16, .cells = 5};
  const std::string best =
      "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|";
  return {{"pgd_darts", "darts", "darts-v2", "pgd", darts},
          {"pgd_nb201", "nasbench201", best, "pgd", nasbench},
          {"square", "darts", "darts-v2", "square", darts}};
}

enum class Way { fused, nchw, channels_last };

class Runner {
 public:
  Runner(const Workload& workload, int batch) : workload_(workload) {
    const auto space = find_space(workload.space);
    network_ = std::make_shared<Network>(
        plan_network(*space, find_genotype(workload.genotype), workload.network, {3, 32, 32}, 10), 1);
    victim_ = network_victim(network_, {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}}, "bench");
    attacked_.images = at::rand({batch, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
    attacked_.labels = victim_->logits(attacked_.images).argmax(1);
    for (int64_t i = 0; i < batch; ++i) attacked_.indices.push_back(i);
  }

  // All images stay to the end, so that both ways do the same work; so near, none is fooled.
  void run(Way way) const {
    const EngineScope scope(way == Way::fused ? Engine::fused : Engine::reference);
    network_->use_channels_last(way != Way::nchw);
    AttackSettings settings;
    settings.leave = false;
    settings.steps = workload_.steps;
    settings.queries = workload_.queries;
    Attack::Registry::instance().make(workload_.attack, settings)->run(*victim_, attacked_, {Norm::linf, 1e-7});
  }

 private:
  Workload workload_;
  std::shared_ptr<Network> network_;
  VictimPointer victim_;
  Attacked attacked_;
};

// Peak memory of a process that attacks once and does nothing else, in GB; without a way, of one that only answers.
double peak_memory(const Workload& workload, int batch, std::optional<Way> way) {
  const pid_t child = fork();
  if (child == 0) {
    const Runner runner(workload, batch);
    if (way) runner.run(*way);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

// Of one thread and of so many, in turns.
double thread_ratio(const Workload& workload, int batch, int rounds, int threads) {
  const Runner runner(workload, batch);
  std::vector<double> one, all;
  for (int round = -1; round < rounds; ++round) {
    for (auto* times : {&one, &all}) {
      use_threads(times == &one ? 1 : threads);
      const double time = seconds([&] { runner.run(Way::fused); });
      if (round >= 0) times->push_back(time);
    }
  }
  return median(one) / median(all);
}

}  // namespace

int main(int argc, char** argv) {
  correct_blas_kernels(argv);
  keep_freed_memory();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  int rounds = 3, batch = 64, threads = 2;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--rounds")) rounds = std::max(1, std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--batch")) batch = std::max(1, std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--threads")) threads = std::max(1, std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--clock")) processor_time = !std::strcmp(argv[i + 1], "processor");
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
  }
  std::vector<std::string> figures;
  const auto figure = [&](const std::string& name, double value) {
    figures.push_back(fmt::format("{}={:.2f}", name, value));
  };
  if (only.empty()) {
    // Memory first: a child starts with what this process already holds, and without threads of ours.
    Workload once = workloads().front();
    once.steps = 2;
    const double fused = peak_memory(once, batch, Way::fused);
    const double plain = std::min(peak_memory(once, batch, Way::nchw), peak_memory(once, batch, Way::channels_last));
    const double still = peak_memory(once, batch, std::nullopt);
    fmt::print("Peak memory of PGD on DARTS_V2: fused {:.2f} GB, plain {:.2f} GB; before it begins {:.2f} GB\n\n",
               fused, plain, still);
    figure("pgd_memory_ratio", plain / fused);
    figure("pgd_memory_ratio_of_the_attack", (plain - still) / (fused - still));
  }

  use_threads(threads);
  fmt::print("{}\n\n{:<12}{:>10}{:>12}{:>16}{:>10}\n", describe_engine(), "attack", "fused s", "plain NCHW",
             "channels last", "vs best");
  for (const Workload& workload : workloads()) {
    if (!only.empty() && workload.name != only) continue;
    const Runner runner(workload, batch);
    std::map<Way, std::vector<double>> times;
    for (int round = -1; round < rounds; ++round) {
      for (const Way way : {Way::fused, Way::nchw, Way::channels_last}) {
        const double time = seconds([&] { runner.run(way); });
        if (round >= 0) times[way].push_back(time);
      }
    }
    const double ours = median(times[Way::fused]), nchw = median(times[Way::nchw]),
                 last = median(times[Way::channels_last]), ratio = std::min(nchw, last) / ours;
    fmt::print("{:<12}{:>10.3f}{:>12.3f}{:>16.3f}{:>9.1f}x\n", workload.name, ours, nchw, last, ratio);
    figure(workload.name + "_vs_best_plain", ratio);
  }
  if (only.empty())
    figure(fmt::format("pgd_threads_{}_vs_1", threads), thread_ratio(workloads().front(), batch, rounds, threads));
  fmt::print("\n");
  for (const std::string& line : figures) fmt::print("{}\n", line);
}
