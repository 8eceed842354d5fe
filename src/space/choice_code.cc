#include "nascent/space/choice_code.h"

#include <algorithm>
#include <cmath>

namespace nascent {

namespace {

// A multiset of k out of n is a set of k out of n + k - 1: the i-th smallest element, moved up by i.
std::vector<int> spread(std::vector<int> multiset) {
  std::sort(multiset.begin(), multiset.end());
  for (size_t i = 0; i < multiset.size(); ++i) multiset[i] += static_cast<int>(i);
  return multiset;
}

std::vector<int> gather(std::vector<int> set) {
  for (size_t i = 0; i < set.size(); ++i) set[i] -= static_cast<int>(i);
  return set;
}

int size(const std::vector<int>& v) { return static_cast<int>(v.size()); }

}  // namespace

double binomial(int n, int k) {
  if (k < 0 || k > n) return 0;
  double product = 1;
  for (int i = 1; i <= k; ++i) product = std::round(product * (n - k + i) / i);
  return product;
}

std::vector<int> unrank_choice(int n, int k, int64_t rank) {
  std::vector<int> chosen;
  for (int next = 0; size(chosen) < k; ++next) {
    const auto with_next = static_cast<int64_t>(binomial(n - next - 1, k - size(chosen) - 1));
    if (rank < with_next) {
      chosen.push_back(next);
    } else {
      rank -= with_next;
    }
  }
  return chosen;
}

int64_t rank_choice(int n, const std::vector<int>& chosen) {
  int64_t rank = 0;
  int next = 0;
  for (int i = 0; i < size(chosen); ++i, ++next) {
    for (; next < chosen[i]; ++next) rank += static_cast<int64_t>(binomial(n - next - 1, size(chosen) - i - 1));
  }
  return rank;
}

NodeCode::NodeCode(const CellChoices& cell, const NodeChoices& node, const std::vector<std::string>& ops)
    : node_(node), ops_(ops), ops_on_nodes_(cell.ops_on_nodes), repeat_(cell.repeat_inputs) {
  const int inputs = size(node.inputs), kinds = static_cast<int>(ops.size());
  if (ops_on_nodes_) {
    count_ = kinds * (repeat_ ? binomial(inputs + node.keep - 1, node.keep) : binomial(inputs, node.keep));
  } else if (repeat_) {
    count_ = binomial(inputs * kinds + node.keep - 1, node.keep);
  } else {
    count_ = binomial(inputs, node.keep) * std::pow(kinds, node.keep);
  }
}

int NodeCode::op_index(const std::string& op) const {
  return static_cast<int>(std::find(ops_.begin(), ops_.end(), op) - ops_.begin());
}

int NodeCode::input_index(int state) const {
  return static_cast<int>(std::find(node_.inputs.begin(), node_.inputs.end(), state) - node_.inputs.begin());
}

// Edges with repeated inputs: a multiset of (input, operation) pairs, so that swapping two edges is not another
// architecture.
GenotypeNode NodeCode::decode_pairs(int64_t code) const {
  const int kinds = static_cast<int>(ops_.size());
  GenotypeNode node;
  for (int pair : gather(unrank_choice(size(node_.inputs) * kinds + node_.keep - 1, node_.keep, code))) {
    node.edges.push_back({node_.inputs[pair / kinds], ops_[pair % kinds]});
  }
  return node;
}

int64_t NodeCode::encode_pairs(const GenotypeNode& node) const {
  const int kinds = static_cast<int>(ops_.size());
  std::vector<int> pairs;
  for (const GenotypeEdge& edge : node.edges) pairs.push_back(input_index(edge.from) * kinds + op_index(edge.op));
  return rank_choice(size(node_.inputs) * kinds + node_.keep - 1, spread(pairs));
}

GenotypeNode NodeCode::decode(int64_t code) const {
  if (repeat_ && !ops_on_nodes_) return decode_pairs(code);
  const int kinds = static_cast<int>(ops_.size()), choices = ops_on_nodes_ ? 1 : node_.keep;
  std::vector<std::string> ops(choices);
  for (int i = choices - 1; i >= 0; --i, code /= kinds) ops[i] = ops_[code % kinds];
  const int inputs = size(node_.inputs);
  const std::vector<int> chosen = repeat_ ? gather(unrank_choice(inputs + node_.keep - 1, node_.keep, code))
                                          : unrank_choice(inputs, node_.keep, code);
  GenotypeNode node;
  for (int i = 0; i < size(chosen); ++i) {
    node.edges.push_back({node_.inputs[chosen[i]], ops_on_nodes_ ? "skip_connect" : ops[i]});
  }
  if (ops_on_nodes_) node.op = ops[0];
  return node;
}

int64_t NodeCode::encode(const GenotypeNode& node) const {
  if (repeat_ && !ops_on_nodes_) return encode_pairs(node);
  std::vector<GenotypeEdge> edges = node.edges;
  std::sort(edges.begin(), edges.end());
  std::vector<int> chosen;
  for (const GenotypeEdge& edge : edges) chosen.push_back(input_index(edge.from));
  const int inputs = size(node_.inputs);
  int64_t code = repeat_ ? rank_choice(inputs + node_.keep - 1, spread(chosen)) : rank_choice(inputs, chosen);
  const auto kinds = static_cast<int64_t>(ops_.size());
  if (ops_on_nodes_) return code * kinds + op_index(node.op);
  for (const GenotypeEdge& edge : edges) code = code * kinds + op_index(edge.op);
  return code;
}

}  // namespace nascent
