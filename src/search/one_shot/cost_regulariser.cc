// What the architecture will cost to run, in expectation: parameters, multiply-adds, or time measured on this machine.
#include <ATen/ATen.h>

#include "nascent/search/one_shot/latency.h"
#include "nascent/search/one_shot/regulariser.h"

namespace nascent {
namespace {

using CandidateCost = std::function<double(const Stages&, const Shape& input)>;

// Costs per cell type as tables [sites, ops], summed over all cells of that type in the network.
std::map<std::string, at::Tensor> cost_tables(const RegulariserSetup& setup, const CandidateCost& cost) {
  std::map<std::string, at::Tensor> tables;
  const auto ops = static_cast<int64_t>(setup.space.ops().size());
  for (const auto& cell : setup.space.cells()) tables[cell.type] = at::zeros({Space::sites(cell), ops}, at::kDouble);
  for (const auto& cell : setup.supernet.cells) {
    const auto shapes = state_shapes(cell);
    const auto add = [&](int site, const std::vector<Stages>& candidates, const Shape& input) {
      for (size_t op = 0; site >= 0 && op < candidates.size(); ++op) {
        tables.at(cell.type)[site][static_cast<int64_t>(op)] += cost(candidates[op], input);
      }
    };
    for (size_t i = 0; i < cell.nodes.size(); ++i) {
      const auto& node = cell.nodes[i];
      for (const auto& edge : node.edges) {
        add(edge.site, edge.candidates, candidate_input(shapes[static_cast<size_t>(edge.from)], edge.partial));
      }
      if (!node.candidates.empty()) {
        add(node.site, node.candidates, candidate_input(shapes[cell.preprocess.size() + i], node.partial));
      }
    }
  }
  return tables;
}

// strength * expected cost / largest cost, or, with a budget, strength * max(0, expected / budget - 1).
class CostRegulariser : public Regulariser {
 public:
  CostRegulariser(const RegulariserSetup& setup, const CandidateCost& cost)
      : strength_(setup.strength),
        budget_(setup.numbers.empty() ? 0 : setup.numbers[0]),
        tables_(cost_tables(setup, cost)) {
    for (auto& [type, table] : tables_) {
      largest_ += table.amax(-1).sum().item<double>();
      table = table.to(at::kFloat);
    }
  }

  at::Tensor penalty(const Mixture& probabilities) const override {
    at::Tensor expected = at::zeros({});
    for (const auto& [type, table] : tables_) expected = expected + (probabilities.at(type).ops * table).sum();
    if (budget_ > 0) return strength_ * (expected / budget_ - 1).relu();
    return strength_ * expected / std::max(largest_, 1e-12);
  }

 private:
  double strength_, budget_, largest_ = 0;
  std::map<std::string, at::Tensor> tables_;
};

NASCENT_REGISTER(Regulariser, "parameters", "expected parameters of the cells; a third number is a budget",
                 [](const RegulariserSetup& setup) {
                   return std::make_unique<CostRegulariser>(setup, [](const Stages& stages, const Shape&) {
                     return static_cast<double>(parameters(stages));
                   });
                 });
NASCENT_REGISTER(Regulariser, "multiply-adds", "expected multiply-adds of the cells; a third number is a budget",
                 [](const RegulariserSetup& setup) {
                   return std::make_unique<CostRegulariser>(setup, [](const Stages& stages, const Shape& input) {
                     return static_cast<double>(multiply_adds(stages, input));
                   });
                 });
NASCENT_REGISTER(Regulariser, "latency",
                 "expected milliseconds of the cells, measured here; a third number is a budget",
                 [](const RegulariserSetup& setup) {
                   LatencyTable latencies;
                   return std::make_unique<CostRegulariser>(setup, [&](const Stages& stages, const Shape& input) {
                     return latencies.milliseconds(stages, input);
                   });
                 });

}  // namespace
}  // namespace nascent
