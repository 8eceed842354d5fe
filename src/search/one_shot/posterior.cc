#include "nascent/search/one_shot/posterior.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/search/one_shot/sampling.h"
#include "nascent/space/choice_code.h"

namespace nascent {
namespace {

constexpr double kMostSets = 1e5;

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

size_t strongest(const std::vector<double>& values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

double gumbel(RandomStream& random) { return -std::log(-std::log((random.uniform() + 1e-12) / (1 + 2e-12))); }

// Positions of the `keep` largest, ascending.
std::vector<int> largest(const std::vector<double>& values, int keep) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
  order.resize(static_cast<size_t>(keep));
  std::sort(order.begin(), order.end());
  return order;
}

at::Tensor long_tensor(const std::vector<int>& values) {
  return at::tensor(std::vector<int64_t>(values.begin(), values.end()), at::kLong);
}

}  // namespace

InputSets::InputSets(const EdgeGroup& group) {
  const int inputs = static_cast<int>(group.rows.size()), keep = group.keep;
  const double count = binomial(inputs, keep), orders = std::tgamma(keep + 1);
  if (count * orders > kMostSets)
    fail("A node that keeps {} of {} inputs has too many ways to do so for a distribution over them.", keep, inputs);
  const auto sets = static_cast<int64_t>(count), permutations = static_cast<int64_t>(std::llround(orders));
  orders_ = at::zeros({sets, permutations, keep}, at::kLong);
  gone_ = at::zeros({sets, permutations, keep, inputs}, at::kBool);
  contains_ = at::zeros({inputs, sets}, at::kDouble);
  for (int64_t set = 0; set < sets; ++set) {
    std::vector<int> order = unrank_choice(inputs, keep, set);
    sets_.push_back(order);
    for (const int position : order) contains_[position][set] = 1;
    for (int64_t permutation = 0; permutation < permutations; ++permutation) {
      for (int i = 0; i < keep; ++i) {
        orders_[set][permutation][i] = order[static_cast<size_t>(i)];
        for (int before = 0; before < i; ++before)
          gone_[set][permutation][i][order[static_cast<size_t>(before)]] = true;
      }
      std::next_permutation(order.begin(), order.end());
    }
  }
}

// In logarithms throughout: a distribution near a point has remainders 1 - p that would be rounded to 0.
at::Tensor InputSets::log_probabilities(const at::Tensor& logits) const {
  const at::Tensor drawn = logits.index_select(0, orders_.flatten()).view(orders_.sizes());
  const at::Tensor left = logits.expand(gone_.sizes()).masked_fill(gone_, -INFINITY).logsumexp(-1);
  return (drawn - left).sum(-1).logsumexp(-1);
}

at::Tensor InputSets::kept(const at::Tensor& log_sets) const { return contains_.mv(log_sets.exp()); }

size_t InputSets::index_of(const std::vector<int>& set) const {
  return static_cast<size_t>(std::find(sets_.begin(), sets_.end(), set) - sets_.begin());
}

PosteriorShape::PosteriorShape(const Space& space) : ops_(genotype_op_indices(space)), op_index_(long_tensor(ops_)) {
  for (const CellChoices& choices : space.cells()) {
    Cell cell{choices.type, choices.ops_on_nodes, edge_groups(choices), {}};
    for (const EdgeGroup& group : cell.groups) cell.inputs.emplace_back(group);
    cells_.push_back(std::move(cell));
  }
}

at::Tensor PosteriorShape::group_logits(const CellMixture& logits, const EdgeGroup& group) const {
  return logits.edges.index_select(0, long_tensor(group.rows)).to(at::kDouble).log_softmax(0);
}

at::Tensor PosteriorShape::op_log_probabilities(const CellMixture& logits) const {
  return logits.ops.index_select(1, op_index_).to(at::kDouble).log_softmax(1);
}

at::Tensor PosteriorShape::divergence(const Mixture& logits) const {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const Cell& cell : cells_) {
    const CellMixture& rows = logits.at(cell.type);
    const at::Tensor log_ops = op_log_probabilities(rows);
    // Per site, the divergence of its operation.
    const at::Tensor of_ops = (log_ops.exp() * (log_ops + std::log(static_cast<double>(ops_.size())))).sum(1);
    if (cell.ops_on_nodes) sum = sum + of_ops.sum();
    for (size_t g = 0; g < cell.groups.size(); ++g) {
      const EdgeGroup& group = cell.groups[g];
      at::Tensor kept = at::ones({static_cast<int64_t>(group.rows.size())}, at::kDouble);
      if (group.chooses()) {
        const at::Tensor log_sets = cell.inputs[g].log_probabilities(group_logits(rows, group));
        const double ways = std::log(static_cast<double>(cell.inputs[g].sets().size()));
        sum = sum + (log_sets.exp() * (log_sets + ways)).sum();
        kept = cell.inputs[g].kept(log_sets);
      }
      if (!cell.ops_on_nodes && group.node >= 0) sum = sum + kept.dot(of_ops.index_select(0, long_tensor(group.rows)));
    }
  }
  return sum;
}

namespace {

std::vector<std::string> left_out(const Space& space) {
  std::vector<std::string> names;
  for (const std::string& op : space.ops()) {
    const auto& allowed = space.genotype_ops();
    if (std::find(allowed.begin(), allowed.end(), op) == allowed.end()) names.push_back(op);
  }
  return names;
}

}  // namespace

ArchitecturePosterior::ArchitecturePosterior(const Space& space, const PosteriorSettings& settings, uint64_t seed)
    : space_(space),
      settings_(settings),
      shape_(space),
      architecture_(space, {.domain = Domain::logits,
                            .weighted_edges = true,
                            .spread = settings.spread,
                            .exclude = left_out(space),
                            .seed = seed}) {
  if (!(settings.temperature > 0)) {
    fail(
        "The posterior's softmax temperature is {}; it must be above 0 (1 as in the thesis, larger flattens the "
        "distribution).",
        settings.temperature);
  }
}

Mixture ArchitecturePosterior::logits() const {
  Mixture result;
  const auto tensors = architecture_.tensors();  // operations and edges of each cell in turn
  for (size_t i = 0; i < shape_.cells().size(); ++i) {
    CellMixture& cell = result[shape_.cells()[i].type];
    cell.ops = tensors[2 * i] / settings_.temperature;
    cell.edges = tensors[2 * i + 1] / settings_.temperature;
  }
  return result;
}

Mixture ArchitecturePosterior::probabilities() const {
  Mixture result = logits();
  for (const auto& cell : shape_.cells()) {
    CellMixture& rows = result.at(cell.type);
    std::vector<at::Tensor> parts;
    for (const EdgeGroup& group : cell.groups) parts.push_back(shape_.group_logits(rows, group).exp().to(at::kFloat));
    rows.edges = at::cat(parts);
    rows.ops = rows.ops.softmax(-1);
  }
  return result;
}

double ArchitecturePosterior::log_probability(const Genotype& genotype) const {
  const auto codes = encode(space_, genotype);
  const Mixture rows = logits();
  double sum = 0;
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto& cell = shape_.cells()[i];
    const at::Tensor log_ops = shape_.op_log_probabilities(rows.at(cell.type)).detach();
    for (size_t site = 0; site < codes[i].ops.size(); ++site) {
      if (codes[i].ops[site] < 0) continue;
      const auto column = std::find(shape_.ops().begin(), shape_.ops().end(), codes[i].ops[site]);
      if (column == shape_.ops().end()) return -INFINITY;
      sum += log_ops[static_cast<int64_t>(site)][column - shape_.ops().begin()].item<double>();
    }
    for (size_t g = 0; g < cell.groups.size(); ++g) {
      const at::Tensor log_sets =
          cell.inputs[g].log_probabilities(shape_.group_logits(rows.at(cell.type), cell.groups[g]));
      sum += numbers(log_sets)[cell.inputs[g].index_of(codes[i].kept[g])];
    }
  }
  return sum;
}

std::vector<double> ArchitecturePosterior::kept(size_t index) const {
  const auto& cell = shape_.cells()[index];
  const auto chooses = [](const EdgeGroup& group) { return group.node >= 0 && group.chooses(); };
  if (cell.ops_on_nodes || std::none_of(cell.groups.begin(), cell.groups.end(), chooses)) return {};
  const Mixture rows = logits();
  std::vector<double> result(static_cast<size_t>(rows.at(cell.type).ops.size(0)), 1.0);
  for (size_t g = 0; g < cell.groups.size(); ++g) {
    const EdgeGroup& group = cell.groups[g];
    if (!chooses(group)) continue;
    const auto shares =
        numbers(cell.inputs[g].kept(cell.inputs[g].log_probabilities(shape_.group_logits(rows.at(cell.type), group))));
    for (size_t i = 0; i < shares.size(); ++i) result[static_cast<size_t>(group.rows[i])] = shares[i];
  }
  return result;
}

std::vector<double> ArchitecturePosterior::entropies() const {
  std::vector<double> result;
  const Mixture rows = logits();
  for (const auto& cell : shape_.cells()) {
    const at::Tensor log_ops = shape_.op_log_probabilities(rows.at(cell.type)).detach();
    const at::Tensor of_ops = -(log_ops.exp() * log_ops).sum(1);
    double sum = cell.ops_on_nodes ? of_ops.sum().item<double>() : 0;
    for (size_t g = 0; g < cell.groups.size(); ++g) {
      const at::Tensor log_sets =
          cell.inputs[g].log_probabilities(shape_.group_logits(rows.at(cell.type), cell.groups[g])).detach();
      sum -= (log_sets.exp() * log_sets).sum().item<double>();
      if (!cell.ops_on_nodes && cell.groups[g].node >= 0) {
        sum +=
            cell.inputs[g].kept(log_sets).dot(of_ops.index_select(0, long_tensor(cell.groups[g].rows))).item<double>();
      }
    }
    result.push_back(sum);
  }
  return result;
}

Genotype ArchitecturePosterior::sample(RandomStream& random) const {
  const Mixture rows = logits();
  std::vector<CellCode> codes;
  for (const auto& cell : shape_.cells()) {
    const CellMixture& of_cell = rows.at(cell.type);
    const at::Tensor log_ops = shape_.op_log_probabilities(of_cell);
    CellCode code;
    for (int64_t site = 0; site < log_ops.size(0); ++site) {
      std::vector<double> perturbed = numbers(log_ops[site]);
      for (double& x : perturbed) x += gumbel(random);
      code.ops.push_back(shape_.ops()[strongest(perturbed)]);
    }
    // The largest of perturbed logits are a draw without replacement.
    for (const EdgeGroup& group : cell.groups) {
      std::vector<double> perturbed = numbers(shape_.group_logits(of_cell, group));
      for (double& x : perturbed) x += gumbel(random);
      code.kept.push_back(largest(perturbed, group.keep));
    }
    codes.push_back(std::move(code));
  }
  return decode(space_, codes);
}

// A set of inputs counts with the best operations that it allows.
Genotype ArchitecturePosterior::most_probable() const {
  const Mixture rows = logits();
  std::vector<CellCode> codes;
  for (const auto& cell : shape_.cells()) {
    const CellMixture& of_cell = rows.at(cell.type);
    const at::Tensor log_ops = shape_.op_log_probabilities(of_cell);
    CellCode code;
    std::vector<double> best;
    for (int64_t site = 0; site < log_ops.size(0); ++site) {
      const auto row = numbers(log_ops[site]);
      code.ops.push_back(shape_.ops()[strongest(row)]);
      best.push_back(row[strongest(row)]);
    }
    for (size_t g = 0; g < cell.groups.size(); ++g) {
      const EdgeGroup& group = cell.groups[g];
      auto scores = numbers(cell.inputs[g].log_probabilities(shape_.group_logits(of_cell, group)));
      const auto& sets = cell.inputs[g].sets();
      for (size_t set = 0; set < sets.size() && !cell.ops_on_nodes && group.node >= 0; ++set) {
        for (const int position : sets[set]) scores[set] += best[static_cast<size_t>(group.rows[position])];
      }
      code.kept.push_back(sets[strongest(scores)]);
    }
    codes.push_back(std::move(code));
  }
  return decode(space_, codes);
}

namespace {

// Hard in the forward pass, the gradient of `soft` in the backward pass.
at::Tensor straight(const at::Tensor& hard, const at::Tensor& soft) { return hard - soft.detach() + soft; }

// A sum of `keep` softmaxes, each without what the ones before took: as the temperature falls, the `keep` largest.
at::Tensor relaxed_top(at::Tensor logits, int keep) {
  at::Tensor sum = at::zeros_like(logits);
  for (int i = 0; i < keep; ++i) {
    const at::Tensor taken = logits.softmax(0);
    sum = sum + taken;
    logits = logits + (1 - taken).clamp_min(1e-12).log();
  }
  return sum;
}

}  // namespace

Mixture ArchitecturePosterior::straight_through(const SearchPlace& place, double gumbel_temperature) const {
  Mixture result = logits();
  for (const auto& cell : shape_.cells()) {
    CellMixture& rows = result.at(cell.type);
    const at::Tensor noise = gumbel_noise(rows.ops.sizes(), place, "posterior ops " + cell.type);
    const at::Tensor soft = ((rows.ops.log_softmax(-1) + noise) / gumbel_temperature).softmax(-1);
    rows.active = strongest_per_row(soft);
    const at::Tensor hard = at::zeros_like(soft).scatter(-1, soft.detach().argmax(-1, /*keepdim=*/true), 1.0);
    const at::Tensor edge_noise = gumbel_noise(rows.edges.sizes(), place, "posterior edges " + cell.type);
    std::vector<at::Tensor> parts;
    for (const EdgeGroup& group : cell.groups) {
      const auto size = static_cast<int64_t>(group.rows.size());
      if (!group.chooses()) {
        parts.push_back(at::ones({size}));
        continue;
      }
      const at::Tensor perturbed = rows.edges.narrow(0, group.rows.front(), size).log_softmax(0) +
                                   edge_noise.narrow(0, group.rows.front(), size);
      const std::vector<int> kept = largest(numbers(perturbed), group.keep);
      const at::Tensor chosen = at::zeros({size}).index_fill(0, long_tensor(kept), 1);
      parts.push_back(straight(chosen, relaxed_top(perturbed / gumbel_temperature, group.keep)));
      for (int64_t i = 0; i < size && !cell.ops_on_nodes && group.node >= 0; ++i) {
        if (chosen[i].item<float>() == 0) rows.active[static_cast<size_t>(group.rows[i])] = {};
      }
    }
    rows.ops = straight(hard, soft);
    rows.edges = at::cat(parts);
  }
  return result;
}

}  // namespace nascent
