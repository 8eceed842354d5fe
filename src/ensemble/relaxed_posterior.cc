#include "nascent/ensemble/relaxed_posterior.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nascent {
namespace {

std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

std::vector<std::vector<int>> one_hots(size_t count) {
  std::vector<std::vector<int>> choices;
  for (size_t i = 0; i < count; ++i) choices.push_back({static_cast<int>(i)});
  return choices;
}

// Positions of the `keep` largest of some coordinates, ascending.
std::vector<int> largest(std::span<const double> values, int keep) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values[a] > values[b]; });
  order.resize(static_cast<size_t>(keep));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

RelaxedPosterior::RelaxedPosterior(const ArchitecturePosterior& posterior)
    : space_(posterior.space()),
      shape_(posterior.shape()),
      variance_(static_cast<double>(posterior.shape().ops().size())) {
  const Mixture rows = posterior.logits();
  const size_t ops = shape_.ops().size();
  for (const auto& cell : shape_.cells()) {
    const at::Tensor log_ops = shape_.op_log_probabilities(rows.at(cell.type));
    for (int64_t site = 0; site < log_ops.size(0); ++site) add_block(ops, one_hots(ops), numbers(log_ops[site]), 1);
    for (size_t g = 0; g < cell.groups.size(); ++g) {
      const EdgeGroup& group = cell.groups[g];
      if (!group.chooses()) continue;
      const at::Tensor log_sets = cell.inputs[g].log_probabilities(shape_.group_logits(rows.at(cell.type), group));
      add_block(group.rows.size(), cell.inputs[g].sets(), numbers(log_sets), group.keep);
    }
  }
}

void RelaxedPosterior::add_block(size_t size, std::vector<std::vector<int>> choices,
                                 std::vector<double> log_probabilities, int keep) {
  blocks_.push_back({dimensions_, size, std::move(choices), std::move(log_probabilities), keep});
  dimensions_ += size;
}

// All choices of a block have the same length, so |x - h|^2 differs from choice to choice only by -2 x.h.
std::vector<double> RelaxedPosterior::terms(const Block& block, std::span<const double> x) const {
  std::vector<double> terms = block.log_probabilities;
  for (size_t c = 0; c < terms.size(); ++c) {
    for (const int coordinate : block.choices[c])
      terms[c] += x[block.start + static_cast<size_t>(coordinate)] / variance_;
  }
  return terms;
}

void RelaxedPosterior::gradient(std::span<const double> x, std::span<double> gradient) const {
  for (const Block& block : blocks_) {
    std::vector<double> responsible = terms(block, x);
    const double top = *std::max_element(responsible.begin(), responsible.end());
    double sum = 0;
    for (double& r : responsible) sum += r = std::exp(r - top);
    for (size_t i = block.start; i < block.start + block.size; ++i) gradient[i] = -x[i] / variance_;
    for (size_t c = 0; c < responsible.size(); ++c) {
      for (const int coordinate : block.choices[c])
        gradient[block.start + static_cast<size_t>(coordinate)] += responsible[c] / sum / variance_;
    }
  }
}

double RelaxedPosterior::log_density(std::span<const double> x) const {
  double sum = 0;
  for (const Block& block : blocks_) {
    const std::vector<double> logs = terms(block, x);
    const double top = *std::max_element(logs.begin(), logs.end());
    double total = 0;
    for (const double term : logs) total += std::exp(term - top);
    sum += top + std::log(total);
    for (size_t i = block.start; i < block.start + block.size; ++i) sum -= x[i] * x[i] / (2 * variance_);
  }
  return sum;
}

Genotype RelaxedPosterior::decode(const Particle& particle) const {
  std::vector<CellCode> codes;
  size_t next = 0;
  const auto read = [&] {
    const Block& block = blocks_[next++];
    return largest({particle.data() + block.start, block.size}, block.keep);
  };
  for (size_t i = 0; i < shape_.cells().size(); ++i) {
    CellCode code;
    for (int site = 0; site < Space::sites(space_.cells()[i]); ++site)
      code.ops.push_back(shape_.ops()[static_cast<size_t>(read()[0])]);
    for (const EdgeGroup& group : shape_.cells()[i].groups) {
      std::vector<int> all(group.rows.size());
      std::iota(all.begin(), all.end(), 0);
      code.kept.push_back(group.chooses() ? read() : all);
    }
    codes.push_back(std::move(code));
  }
  return nascent::decode(space_, codes);
}

}  // namespace nascent
