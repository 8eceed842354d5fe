// How fast a step is on the fused engine, beside LibTorch's plain operations in the same run.
//
//   step [--quick]      every figure as a table, then one name=value line each
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "kernels/isa.h"
#include "kernels/memory.h"
#include "nn/engine.h"
#include "nn/network.h"
#include "nn/threads.h"
#include "space/space.h"

using namespace nascent;

namespace {

double seconds(const std::function<void()>& work) {
  timespec a, b; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  work();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b); return (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  correct_blas_kernels(argv);
  keep_freed_memory();
  const int threads = argc > 1 ? atoi(argv[1]) : 2, batch = argc > 2 ? atoi(argv[2]) : 64, cells = argc > 3 ? atoi(argv[3]) : 8;
  const int plain = argc > 4 ? atoi(argv[4]) : 1;
  use_threads(threads);
  fmt::print("{} isa {}\n", describe_engine(), kernels::isa());
  const auto space = find_space("darts");
  Network network(plan_supernet(*space, {.channels = 16, .cells = cells}, {3, 32, 32}, 10), 1);
  network.train();
  Mixture mixture;
  for (const CellChoices& cell : space->cells())
    mixture[cell.type].ops = at::softmax(at::randn({Space::sites(cell), 8}) * 1e-3, 1).requires_grad_();
  const at::Tensor images = at::randn({batch, 3, 32, 32}), labels = at::randint(10, {batch}, at::kLong);
  const auto step = [&](bool weights) {
    const at::Tensor loss = at::cross_entropy_loss(network.forward(images, {.mixture = &mixture}).logits, labels);
    std::vector<at::Tensor> wanted;
    if (weights) {
      for (const auto& p : network.parameters()) wanted.push_back(p);
    } else {
      for (const auto& [type, cell] : mixture) wanted.push_back(cell.ops);
    }
    torch::autograd::grad({loss}, wanted);
  };
  const auto forward = [&] { const at::NoGradGuard guard; network.forward(images, {.mixture = &mixture}); };
  for (int r = 0; r < 3; ++r) {
    { EngineScope s(Engine::fused); fmt::print("fused fwd {:.3f} arch {:.3f} weights {:.3f}\n", seconds(forward), seconds([&] { step(false); }), seconds([&] { step(true); })); }
    if (r < plain) {
    for (const bool last : {false, true}) { network.use_channels_last(last); EngineScope s(Engine::reference); fmt::print("plain {} fwd {:.3f} arch {:.3f} weights {:.3f}\n", last ? "nhwc" : "nchw", seconds(forward), seconds([&] { step(false); }), seconds([&] { step(true); })); }
    }
  }
  fmt::print("block peak {:.2f} GB\n", kernels::block_bytes_peak() / 1e9);
}
