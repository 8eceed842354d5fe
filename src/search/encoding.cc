#include "nascent/search/encoding.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"
#include "nascent/space/nasbench101.h"
#include "nascent/space/nasbench101_graph.h"

namespace nascent {

namespace {

// Ascending states of a genotype's edges; the operations go along.
std::vector<GenotypeEdge> sorted(std::vector<GenotypeEdge> edges) {
  std::sort(edges.begin(), edges.end());
  return edges;
}

template <class T>
int place_of(const std::vector<T>& values, const T& value) {
  return static_cast<int>(std::find(values.begin(), values.end(), value) - values.begin());
}

}  // namespace

// Visits every choice of a genotype in a fixed order: counts them, reads them, or writes them.
class Encoding::Walk {
 public:
  enum class Mode { count, read, write };

  explicit Walk(Mode mode, Choices choices = {}) : mode_(mode), choices_(std::move(choices)) {}

  Choices& choices() { return choices_; }

  // One choice of `size` options: `current` is what the genotype holds; returns what it shall hold.
  template <class Current>
  int visit(int size, Current current) {
    if (size < 2) return 0;
    if (mode_ == Mode::write) return choices_.at(next_++);
    choices_.push_back(mode_ == Mode::count ? size : current());
    return mode_ == Mode::count ? 0 : choices_.back();
  }

 private:
  Mode mode_;
  Choices choices_;
  size_t next_ = 0;
};

Encoding::Encoding(std::shared_ptr<const Space> space) : space_(std::move(space)) {
  if (is_matrix()) {
    sizes_.assign(kMaxVertices * (kMaxVertices - 1) / 2, 2);
    sizes_.insert(sizes_.end(), kMaxVertices - 2, static_cast<int>(space_->genotype_ops().size()));
    return;
  }
  Walk counting(Walk::Mode::count);
  RandomStream random(0, "encoding");
  Genotype any = space_->sample(random);
  walk(counting, any);
  sizes_ = counting.choices();
}

bool Encoding::is_matrix() const { return space_->name() == "nasbench101"; }

void Encoding::walk(Walk& walk, Genotype& genotype) const {
  const std::vector<std::string>& ops = space_->genotype_ops();
  const auto visit_op = [&](std::string& op) {
    op = ops[walk.visit(static_cast<int>(ops.size()), [&] { return place_of(ops, op); })];
  };
  // Which `keep` of `all` are in `kept`, in ascending order.
  const auto visit_subset = [&](const std::vector<int>& all, int keep, std::vector<int>& kept) {
    const int count = static_cast<int>(all.size());
    const int rank = walk.visit(static_cast<int>(binomial(count, keep)), [&] {
      std::vector<int> places;
      for (const int state : kept) places.push_back(place_of(all, state));
      std::sort(places.begin(), places.end());
      return static_cast<int>(rank_choice(count, places));
    });
    kept.clear();
    for (const int place : unrank_choice(count, keep, rank)) kept.push_back(all[place]);
  };
  for (CellGenotype& cell : genotype.cells) {
    const CellChoices& choices = space_->cell(cell.type);
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      GenotypeNode& node = cell.nodes[n];
      const std::vector<int>& inputs = choices.nodes[n].inputs;
      node.edges = sorted(std::move(node.edges));
      std::vector<int> taken;
      for (const GenotypeEdge& edge : node.edges) taken.push_back(edge.from);
      if (!choices.repeat_inputs) visit_subset(inputs, choices.nodes[n].keep, taken);
      for (size_t e = 0; e < node.edges.size(); ++e) {
        GenotypeEdge& edge = node.edges[e];
        if (choices.repeat_inputs) {
          edge.from = inputs[walk.visit(static_cast<int>(inputs.size()), [&] { return place_of(inputs, edge.from); })];
        } else {
          edge.from = taken[e];
        }
        if (!choices.ops_on_nodes) visit_op(edge.op);
      }
      if (choices.ops_on_nodes) visit_op(node.op);
      node.edges = sorted(std::move(node.edges));
    }
    if (choices.output_keep > 0) visit_subset(choices.output, choices.output_keep, cell.output);
    if (choices.loose_output) cell.output = loose_ends(cell);
  }
}

std::optional<Genotype> Encoding::decode(const Choices& choices) const {
  if (is_matrix()) return decode_matrix(choices);
  RandomStream random(0, "encoding");
  Genotype genotype = space_->sample(random);  // every choice is written over
  Walk writing(Walk::Mode::write, choices);
  walk(writing, genotype);
  return genotype;
}

Choices Encoding::encode(const Genotype& genotype) const {
  space_->validate(genotype);
  if (is_matrix()) return encode_matrix(genotype);
  Walk reading(Walk::Mode::read);
  Genotype copy = genotype;
  walk(reading, copy);
  return reading.choices();
}

// The upper triangle row by row, then the operations.
std::optional<Genotype> Encoding::decode_matrix(const Choices& choices) const {
  AdjacencyMatrix matrix(kMaxVertices, std::vector<int>(kMaxVertices));
  size_t next = 0;
  for (int from = 0; from < kMaxVertices; ++from) {
    for (int to = from + 1; to < kMaxVertices; ++to) matrix[from][to] = choices[next++];
  }
  std::vector<std::string> ops;
  while (next < choices.size()) ops.push_back(space_->genotype_ops()[choices[next++]]);
  try {
    const Genotype genotype{space_->name(), {cell_of_matrix(matrix, ops)}};
    space_->validate(genotype);
    return genotype;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Choices Encoding::encode_matrix(const Genotype& genotype) const {
  const CellGenotype full = to_nasbench101(genotype).cells[0];
  const AdjacencyMatrix matrix = adjacency_matrix(full);
  Choices choices;
  for (int from = 0; from < kMaxVertices; ++from) {
    for (int to = from + 1; to < kMaxVertices; ++to) choices.push_back(matrix[from][to]);
  }
  for (const GenotypeNode& node : full.nodes) choices.push_back(place_of(space_->genotype_ops(), node.op));
  return choices;
}

std::vector<Choices> Encoding::neighbours(const Choices& choices) const {
  std::vector<Choices> all;
  for (size_t i = 0; i < choices.size(); ++i) {
    for (int option = 0; option < sizes_[i]; ++option) {
      Choices changed = choices;
      changed[i] = option;
      if (option != choices[i] && decode(changed)) all.push_back(std::move(changed));
    }
  }
  return all;
}

}  // namespace nascent
