// The regularisers of PR-DARTS: sparsity of the skip and the other operations apart, and a bonus for deep parametric
// paths.
#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/search/one_shot/regulariser.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

// The mean over sites of the probability that operations of one group are active (PR-DARTS, 4.1), summed over cell
// types.
class GroupSparsity : public Regulariser {
 public:
  GroupSparsity(const RegulariserSetup& setup, bool skip) : strength_(setup.strength) {
    const auto& ops = setup.space.ops();
    at::Tensor mask = at::zeros({static_cast<int64_t>(ops.size())});
    for (size_t i = 0; i < ops.size(); ++i) {
      if ((ops[i] == "skip_connect") == skip) mask[static_cast<int64_t>(i)] = 1;
    }
    mask_ = mask / mask.sum().clamp_min(1);
  }

  at::Tensor penalty(const Mixture& probabilities) const override {
    at::Tensor sum = at::zeros({});
    for (const auto& [type, cell] : probabilities)
      sum = sum + (cell.ops * mask_).sum() / static_cast<double>(cell.ops.size(0));
    return strength_ * sum;
  }

 private:
  double strength_;
  at::Tensor mask_;
};

// Minus the product, along last input -> node 1 -> node 2 -> ..., of the summed probabilities of parametric operations
// (eq. 8).
class PathDepth : public Regulariser {
 public:
  explicit PathDepth(const RegulariserSetup& setup) : strength_(setup.strength) {
    for (const auto& op : setup.space.ops()) parametric_.push_back(is_parametric(op));
    for (const auto& cell : setup.space.cells()) {
      if (cell.ops_on_nodes)
        fail("'path-depth' needs operations on edges; the space '{}' has them on nodes.", setup.space.name());
      paths_[cell.type] = path(cell);
    }
  }

  at::Tensor penalty(const Mixture& probabilities) const override {
    at::Tensor sum = at::zeros({});
    for (const auto& [type, rows] : paths_) {
      const at::Tensor& table = probabilities.at(type).ops;
      at::Tensor product = at::ones({});
      for (const int64_t row : rows) product = product * link(table[row]);
      if (!rows.empty()) sum = sum - product;
    }
    return strength_ * sum;
  }

 private:
  // Rows of the candidate edges between neighbouring states, from the last input on.
  static std::vector<int64_t> path(const CellChoices& cell) {
    std::vector<int64_t> rows;
    const auto edges = Space::edges(cell);
    for (size_t row = 0; row < edges.size(); ++row) {
      if (edges[row].to == edges[row].from + 1 && edges[row].from >= cell.inputs - 1)
        rows.push_back(static_cast<int64_t>(row));
    }
    return rows;
  }

  at::Tensor link(const at::Tensor& site) const {
    at::Tensor sum = at::zeros({});
    for (size_t op = 0; op < parametric_.size(); ++op) {
      if (parametric_[op]) sum = sum + site[static_cast<int64_t>(op)];
    }
    return sum;
  }

  double strength_;
  std::vector<bool> parametric_;
  std::map<std::string, std::vector<int64_t>> paths_;
};

NASCENT_REGISTER(Regulariser, "skip-sparsity", "mean probability of skip connections (PR-DARTS, lambda 1)",
                 [](const RegulariserSetup& setup) { return std::make_unique<GroupSparsity>(setup, true); });
NASCENT_REGISTER(Regulariser, "non-skip-sparsity", "mean probability of all other operations (PR-DARTS, lambda 2)",
                 [](const RegulariserSetup& setup) { return std::make_unique<GroupSparsity>(setup, false); });
NASCENT_REGISTER(Regulariser, "path-depth", "minus the probability of the deepest parametric path (PR-DARTS, lambda 3)",
                 [](const RegulariserSetup& setup) { return std::make_unique<PathDepth>(setup); });

}  // namespace
}  // namespace nascent
