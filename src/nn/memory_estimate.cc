#include "nascent/nn/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <numeric>
#include <set>
#include <sstream>

#include "nascent/core/error.h"
#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/schedule.h"
#include "nascent/nn/fused_form.h"

namespace nascent {

namespace {

constexpr double kFloat = 4, kIndex = 8;

bool follows_depthwise(const Stages& stages, size_t i) {
  return i > 0 && stages[i - 1].kind == StageKind::conv && stages[i - 1].groups > 1 &&
         stages[i].kind == StageKind::conv && stages[i].kernel_h == 1 && stages[i].kernel_w == 1;
}

bool convolves_after(const Stages& stages, size_t i) {
  return std::any_of(stages.begin() + static_cast<ptrdiff_t>(i) + 1, stages.end(),
                     [](const Stage& stage) { return stage.kind == StageKind::conv; });
}

// Bytes per image that one list of stages keeps. Of the fused engine these are the results of units, of the plain
// operations all results but those of identities.
double kept_by(const Stages& stages, Shape shape, Engine engine) {
  double bytes = 0;
  if (engine == Engine::fused && !has_fused_form(stages)) {  // LibTorch computes it; the cell has a copy of the result
    const Shape result = output_shape(stages, shape);
    bytes += kFloat * result.height * result.width * kernels::padded(result.channels);
    engine = Engine::reference;
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    shape = stage.output(shape);
    const double pixels = static_cast<double>(shape.height) * shape.width;
    const bool pool = stage.kind == StageKind::max_pool || stage.kind == StageKind::avg_pool;
    if (engine == Engine::fused) {
      const bool inner = i + 1 < stages.size() && follows_depthwise(stages, i + 1);
      const bool unit = stage.kind == StageKind::conv || stage.kind == StageKind::factorized_reduce || pool;
      // What is made again: pools, and what lies between two separable convolutions.
      const bool again = pool || (follows_depthwise(stages, i) && convolves_after(stages, i) &&
                                  kernels::is_cheap(stages[i - 1].kernel_h * stages[i - 1].kernel_w, shape.channels));
      if (unit && !inner && !again) bytes += kFloat * pixels * kernels::padded(shape.channels);
    } else {
      bytes += (kFloat + (stage.kind == StageKind::max_pool ? kIndex : 0)) * pixels * shape.channels;
    }
  }
  return bytes;
}

bool is_zero(const Stages& stages) {
  return std::any_of(stages.begin(), stages.end(), [](const Stage& stage) { return stage.kind == StageKind::zero; });
}

bool is_shared(const Stages& stages) {
  return !stages.empty() && (stages[0].kind == StageKind::max_pool || stages[0].kind == StageKind::avg_pool);
}

double bytes_of(const Shape& shape) { return kFloat * shape.channels * shape.height * shape.width; }

struct CellBytes {
  double kept = 0, working = 0;  // per image
};

// The most that `running` of the candidates keep (0: all of them). Pools that another edge has computed already are
// not counted again.
double kept_by_candidates(const std::vector<Stages>& candidates, const Shape& input, int state, Engine engine,
                          int running, std::set<std::pair<int, StageKind>>& pooled) {
  std::vector<double> kept;
  for (const Stages& candidate : candidates) {
    if (is_zero(candidate)) continue;
    const bool known = is_shared(candidate) && !pooled.insert({state, candidate[0].kind}).second;
    kept.push_back(known && engine == Engine::fused ? 0 : kept_by(candidate, input, engine));
  }
  std::sort(kept.rbegin(), kept.rend());
  if (running > 0 && kept.size() > static_cast<size_t>(running)) kept.resize(running);
  return std::accumulate(kept.begin(), kept.end(), 0.0);
}

CellBytes bytes_of_cell(const CellPlan& cell, Engine engine, int running) {
  const std::vector<Shape> states = state_shapes(cell);
  CellBytes bytes;
  for (size_t i = 0; i < cell.preprocess.size(); ++i)
    bytes.kept += kept_by(cell.preprocess[i], cell.input_shapes[i], engine);
  // The fused engine makes normalised inputs again.
  for (size_t s = engine == Engine::fused ? cell.preprocess.size() : 0; s < states.size(); ++s)
    bytes.kept += bytes_of(states[s]);
  std::set<std::pair<int, StageKind>> pooled;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    const NodePlan& node = cell.nodes[n];
    for (const EdgePlan& edge : node.edges)
      bytes.kept += kept_by_candidates(edge.candidates, candidate_input(states[edge.from], edge.partial), edge.from,
                                       engine, running, pooled);
    // The sum that an operation on a node reads has the shape of the state it makes.
    const int state = static_cast<int>(cell.preprocess.size() + n);
    if (!node.candidates.empty())
      bytes.kept +=
          bytes_of(states[state]) + kept_by_candidates(node.candidates, candidate_input(states[state], node.partial),
                                                       state, engine, running, pooled);
  }
  bytes.kept += bytes_of(cell.output_shape);
  // Gradients of the states and, between the two halves of separable convolutions, of one state's edges.
  for (const Shape& state : states) bytes.working += 3 * bytes_of(state);
  return bytes;
}

}  // namespace

MemoryEstimate estimate_memory(const NetworkPlan& plan, int batch, Engine engine, int running, int copies) {
  MemoryEstimate estimate;
  estimate.weights = kFloat * copies * static_cast<double>(count_parameters(plan, true));
  Shape shape = plan.input;
  for (const Stages& stem : plan.stems) {
    estimate.activations += batch * kept_by(stem, shape, Engine::reference);
    shape = output_shape(stem, shape);
  }
  for (const CellPlan& cell : plan.cells) {
    const CellBytes bytes = bytes_of_cell(cell, engine, running);
    estimate.activations += batch * bytes.kept;
    estimate.working = std::max(estimate.working, batch * bytes.working);
  }
  if (!plan.auxiliary.empty())
    estimate.activations +=
        batch * kept_by(plan.auxiliary, plan.cells[plan.auxiliary_cell].output_shape, Engine::reference);
  return estimate;
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
  const double room = limit > 0 ? limit : available_memory();
  if (estimate.total() > room) {
    fail("A step needs about {:.1f} GB of memory ({:.1f} GB of them for activations), but there are {:.1f} GB. {}",
         estimate.total() / 1e9, estimate.activations / 1e9, room / 1e9, advice);
  }
  return fmt::format("{:.1f} GB", estimate.total() / 1e9);
}

}  // namespace nascent
