#include "nascent/nn/memory_estimate.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
  LoweringKey key{.weighted_edges = true};
  if (running == 0) return key;
  for_each_choice(cell, [&](const std::vector<Stages>& candidates, int site, const Shape& input) {
    if (site < 0) return;
    if (key.active.size() <= static_cast<size_t>(site)) key.active.resize(site + 1);
    key.active[site] = heaviest(candidates, input, running);
  });
  return key;
}

// In bytes, of the whole batch.
CellMemory fused_memory(const CellPlan& cell, int batch, int running) {
  const LoweredCell lowered = lower(cell, key_of(cell, running));
  CellMemory memory = cell_memory(*lowered.program, batch, at::get_num_threads());
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
  double inside = 0, most_inside = 0, most_outside = outside + stem_gradients;
  for (const CellPlan& cell : plan.cells) {
    const CellMemory memory =
        engine == Engine::fused ? fused_memory(cell, batch, running) : plain_memory(cell, batch, running);
    inside += memory.kept;
    estimate.weights += memory.weights;
    outside += batch * bytes_of(cell.output_shape);
    most_inside = std::max(most_inside, inside + std::max(memory.forward, memory.backward));
    // Gradients of the output and of the inputs.
    double gradients = bytes_of(cell.output_shape);
    for (const Shape& input : cell.input_shapes) gradients += bytes_of(input);
    most_outside = std::max(most_outside, outside + batch * gradients);
  }
  estimate.activations = inside + outside;
  estimate.working = std::max(0.0, most_inside + most_outside - estimate.activations);
  return estimate;
}

double resident_memory() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

namespace {

double number_in(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : std::numeric_limits<double>::infinity();
}

}  // namespace

double available_memory() {
  double available = std::numeric_limits<double>::infinity();
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kilobytes = 0;
    if (words >> name >> kilobytes && name == "MemAvailable:") available = 1024 * kilobytes;
  }
  // A container's limit, less what it has taken already.
  const double limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  return std::min(available, limit - (limit < std::numeric_limits<double>::infinity() ? used : 0));
}

std::string check_memory(const MemoryEstimate& estimate, double limit, const std::string& advice) {
  const double room = limit > 0 ? limit : estimate.process + available_memory();
  if (estimate.total() > room) {
    fail("A step needs about {:.1f} GB of memory ({:.1f} GB of them for activations), but there are {:.1f} GB. {}",
         estimate.total() / 1e9, estimate.activations / 1e9, room / 1e9, advice);
  }
  return fmt::format("{:.1f} GB", estimate.total() / 1e9);
}

}  // namespace nascent
