#include "nascent/search/one_shot/latency.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/nn/stage_sequence.h"

namespace nascent {
namespace {

constexpr int kRuns = 9;

// Everything that the time depends on, as text.
std::string key_of(const Stages& stages, const Shape& input) {
  std::string key =
      fmt::format("threads{} {}x{}x{}:", at::get_num_threads(), input.channels, input.height, input.width);
  for (const auto& s : stages) {
    key += fmt::format(" {}({}>{} k{}x{} s{}x{} p{}x{} d{} g{})", static_cast<int>(s.kind), s.in, s.out, s.kernel_h,
                       s.kernel_w, s.stride_h, s.stride_w, s.padding_h, s.padding_w, s.dilation, s.groups);
  }
  return key;
}

double measure(const Stages& stages, const Shape& input) {
  at::NoGradGuard no_grad;
  StageSequence sequence(stages);
  sequence.eval();
  const at::Tensor image = at::ones({1, input.channels, input.height, input.width});
  std::vector<double> times;
  for (int run = 0; run <= kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    sequence.forward(image);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) times.push_back(taken.count());  // the first run only warms up
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

}  // namespace

LatencyTable::LatencyTable() : LatencyTable(cache_directory() / "latency.json") {}

LatencyTable::LatencyTable(std::filesystem::path file) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) return;
  known_ = Json::parse(read_file(file_), nullptr, /*allow_exceptions=*/false);
  if (!known_.is_object()) known_ = Json::object();  // damaged: measured anew
}

LatencyTable::~LatencyTable() {
  if (!changed_) return;
  try {
    write_file(file_, known_.dump(1));
  } catch (const std::exception& error) {
    log::warning("Latencies were measured but cannot be kept: {}", error.what());
  }
}

double LatencyTable::milliseconds(const Stages& stages, const Shape& input) {
  if (stages.empty() || stages.front().kind == StageKind::zero) return 0;
  const std::string key = key_of(stages, input);
  if (!known_.contains(key) || !known_[key].is_number()) {
    known_[key] = measure(stages, input);
    changed_ = true;
  }
  return known_[key];
}

}  // namespace nascent
