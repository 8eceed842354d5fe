#include "nascent/nn/memory_estimate.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "nascent/core/error.h"
#include "nascent/nn/candidates.h"
#include "nascent/nn/cell_memory.h"
#include "nascent/nn/lowered_cell.h"

namespace nascent {

namespace {

constexpr double kFloat = sizeof(float), kIndex = sizeof(int64_t);

double bytes_of(const Shape& shape) { return kFloat * static_cast<double>(shape.count()); }

// Per image: what LibTorch's plain operations keep of one list of stages, all results but those of identities.
double kept_by(const Stages& stages, Shape shape) {
  double bytes = 0;
  for (const Stage& stage : stages) {
    shape = stage.output(shape);
    bytes += bytes_of(shape) * (stage.kind == StageKind::max_pool ? (kFloat + kIndex) / kFloat : 1);
  }
  return bytes;
}

// The candidates that keep most, if only so many run at once.
std::vector<int> heaviest(const std::vector<Stages>& candidates, const Shape& input, int running) {
  std::vector<int> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> kept;
  for (const Stages& candidate : candidates) kept.push_back(is_zero(candidate) ? -1 : kept_by(candidate, input));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return kept[a] > kept[b]; });
  if (order.size() > static_cast<size_t>(running)) order.resize(running);
  std::sort(order.begin(), order.end());
  return order;
}

// Calls `visit(candidates, site, input)` for all edges, and nodes with operations.
template <class Visit>
void for_each_choice(const CellPlan& cell, Visit visit) {
  const std::vector<Shape> states = state_shapes(cell);
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    const NodePlan& node = cell.nodes[n];
    for (const EdgePlan& edge : node.edges) {
      visit(edge.candidates, edge.site, candidate_input(states[edge.from], edge.partial));
    }
    if (node.candidates.empty()) continue;
    const Shape sum = sum_shape(node, states, states[cell.preprocess.size() + n]);
    visit(node.candidates, node.site, candidate_input(sum, node.partial));
  }
}

LoweringKey key_of(const CellPlan& cell, int running) {
  LoweringKey key{.weighted_edges = true, .precision = precision()};
  if (running == 0) return key;
  for_each_choice(cell, [&](const std::vector<Stages>& candidates, int site, const Shape& input) {
    if (site < 0) return;
    if (key.active.size() <= static_cast<size_t>(site)) key.active.resize(site + 1);
    key.active[site] = heaviest(candidates, input, running);
  });
  return key;
}

// In bytes, of the whole batch. `index` is the cell's place in the network: the first ones read what stems make.
CellMemory fused_memory(const CellPlan& cell, int index, int batch, int running) {
  const LoweredCell lowered = lower(cell, key_of(cell, running));
  const int of_stems = std::max(0, lowered.program->inputs - index);
  CellMemory memory = cell_memory(*lowered.program, of_stems, batch, at::get_num_threads());
  // What has no fused form is computed by LibTorch, with a graph of its own.
  for (const kernels::Unit& unit : lowered.program->units) {
    if (unit.kind != kernels::Unit::Kind::plain) continue;
    const kernels::ValueShape& input = lowered.program->values[unit.input.value];
    memory.kept +=
        batch * kept_by(stages_at(cell, lowered.plain[unit.plain]), {unit.input.channels, input.height, input.width});
  }
  return memory;
}

CellMemory plain_memory(const CellPlan& cell, int batch, int running) {
  CellMemory memory;
  for (size_t i = 0; i < cell.preprocess.size(); ++i) memory.kept += kept_by(cell.preprocess[i], cell.input_shapes[i]);
  for (const Shape& state : state_shapes(cell)) {
    memory.kept += bytes_of(state);
    memory.backward += 3 * bytes_of(state);
  }
  for_each_choice(cell, [&](const std::vector<Stages>& candidates, int site, const Shape& input) {
    const int count = running > 0 && site >= 0 ? running : static_cast<int>(candidates.size());
    for (const int index : heaviest(candidates, input, count)) {
      if (!is_zero(candidates[index])) memory.kept += kept_by(candidates[index], input);
    }
  });
  memory.kept *= batch;
  memory.backward *= batch;
  return memory;
}

}  // namespace

// Cells give back what they kept as the backward pass leaves them, so the most is in use at one of them. What LibTorch
// and the engine free stays with the process, each in a pool of its own.
MemoryEstimate estimate_memory(const NetworkPlan& plan, int batch, Engine engine, int running, int copies) {
  MemoryEstimate estimate;
  estimate.process = resident_memory();
  estimate.weights = kFloat * copies * static_cast<double>(count_parameters(plan, true));
  double outside = batch * bytes_of(plan.input);  // kept by LibTorch
  Shape shape = plan.input;
  for (const Stages& stem : plan.stems) {
    outside += batch * kept_by(stem, shape);
    shape = output_shape(stem, shape);
  }
  const double stem_gradients = 2 * batch * bytes_of(shape);
  if (!plan.auxiliary.empty()) outside += batch * kept_by(plan.auxiliary, plan.cells[plan.auxiliary_cell].output_shape);
  // What cells hand to each other is stored as their values.
  const double share = engine == Engine::fused ? static_cast<double>(kernels::bytes_of(precision())) / kFloat : 1;
  double inside = 0, most_inside = 0, most_outside = outside + stem_gradients;
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    const CellPlan& cell = plan.cells[i];
    const CellMemory memory = engine == Engine::fused ? fused_memory(cell, static_cast<int>(i), batch, running)
                                                      : plain_memory(cell, batch, running);
    inside += memory.kept;
    estimate.weights += memory.weights;
    outside += share * batch * bytes_of(cell.output_shape);
    most_inside = std::max(most_inside, inside + std::max(memory.forward, memory.backward));
    // Gradients of the output and of the inputs.
    double gradients = bytes_of(cell.output_shape);
    for (const Shape& input : cell.input_shapes) gradients += bytes_of(input);
    most_outside = std::max(most_outside, outside + share * batch * gradients);
  }
  estimate.activations = inside + outside;
  estimate.working = std::max(0.0, most_inside + most_outside - estimate.activations);
  return estimate;
}

double resident_memory(pid_t process) {
  std::ifstream file(process == 0 ? "/proc/self/statm" : fmt::format("/proc/{}/statm", process));
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kUsable = 0.95;  // the rest is for the system's own business, and for what an estimate misses

double number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : kUnlimited;
}

// What a control group leaves, of both versions: its own limit and those of the groups around it.
double left_by_control_groups() {
  double left = kUnlimited;
  const auto heed = [&](const std::filesystem::path& folder, const char* limit, const char* used) {
    const double most = number_in(folder / limit), taken = number_in(folder / used);
    if (most < kUnlimited && taken < kUnlimited) left = std::min(left, std::max(0.0, most - taken));
  };
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    const bool second = line.starts_with("0::"), first = line.find(":memory:") != std::string::npos;
    if (!first && !second) continue;
    const std::filesystem::path root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::filesystem::path inside = std::filesystem::path(line.substr(colon + 1)).relative_path();
    for (;; inside = inside.parent_path()) {
      if (second) heed(root / inside, "memory.max", "memory.current");
      if (first) heed(root / inside, "memory.limit_in_bytes", "memory.usage_in_bytes");
      if (inside.empty()) break;
    }
  }
  return left;
}

// What 'ulimit -v' leaves: addresses, which what is mapped takes as well as what is used. Threads, malloc and BLAS need
// some (BLAS tries for ever to get them), and the engine's pool takes half of the others.
double left_by_address_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  constexpr double kReserved = 500e6;
  const double taken = number_in("/proc/self/statm") * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, (static_cast<double>(limit.rlim_cur) - taken - kReserved) / 2);
}

}  // namespace

double free_memory() {
  double available = kUnlimited;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") available = 1024 * kilobytes;
  }
  return kUsable * std::min(available, left_by_control_groups());
}

double available_memory() { return std::min(free_memory(), kUsable * left_by_address_limit()); }

namespace {

// "2.9 GB", "35 MB".
std::string bytes_text(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.1f} GB", bytes / 1e9) : fmt::format("{:.0f} MB", std::ceil(bytes / 1e6));
}

}  // namespace

std::string check_memory(const MemoryEstimate& estimate, double limit, const std::string& advice) {
  const double room = limit > 0 ? limit : estimate.process + available_memory();
  if (estimate.total() > room) {
    fail("A step needs about {} of memory ({} of them for activations), but {} {}. {}", bytes_text(estimate.total()),
         bytes_text(estimate.activations), limit > 0 ? "run.memory allows" : "there are", bytes_text(room), advice);
  }
  return bytes_text(estimate.total());
}

void check_memory_of_all(const MemoryEstimate& estimate, size_t processes, double room, const std::string& advice) {
  if (static_cast<double>(processes) * estimate.total() <= room) return;
  fail("Each of {} processes on this machine needs about {} of memory for a step, but there are {} for all of them. {}",
       processes, bytes_text(estimate.total()), bytes_text(room), advice);
}

}  // namespace nascent
