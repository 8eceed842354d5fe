// An LSTM controller that draws an architecture choice by choice, each knowing the ones before (ENAS). Trained by the
// 'reinforce' gradient: nothing flows back through the supernet.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "nascent/search/one_shot/one_hot.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/search/one_shot/sampling.h"

namespace nascent {
namespace {

constexpr int64_t kHidden = 64;
constexpr double kTemperature = 5;  // logits are divided by it, and
constexpr double kTanh = 2.5;       // then squashed to this range: ENAS keeps its policy from settling too early so

// All ways to keep `keep` of `inputs`, in lexicographic order.
std::vector<std::vector<int>> subsets(const std::vector<int>& inputs, int keep) {
  std::vector<std::vector<int>> all;
  std::vector<bool> chosen(inputs.size(), false);
  std::fill(chosen.begin(), chosen.begin() + keep, true);
  do {
    std::vector<int> subset;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (chosen[i]) subset.push_back(inputs[i]);
    }
    all.push_back(std::move(subset));
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return all;
}

// The choices that make a genotype, in the order they are drawn: per node its inputs (where there is a choice) and its
// operations.
class Choices {
 public:
  explicit Choices(const Space& space) : space_(space) {}

  // Builds a genotype by asking `pick(options)` for an index, again and again.
  Genotype draw(const std::function<int(int)>& pick) const {
    Genotype genotype{space_.name(), {}};
    for (const auto& cell : space_.cells()) genotype.cells.push_back(draw_cell(cell, pick));
    return genotype;
  }

  int largest() const {
    int most = 0;
    draw([&](int options) {
      most = std::max(most, options);
      return 0;
    });
    return most;
  }

 private:
  std::string pick_op(const std::function<int(int)>& pick) const {
    const auto& ops = space_.genotype_ops();
    return ops[static_cast<size_t>(pick(static_cast<int>(ops.size())))];
  }

  static std::vector<int> pick_subset(const std::vector<int>& from, int keep, const std::function<int(int)>& pick) {
    const auto all = subsets(from, keep);
    return all[all.size() > 1 ? static_cast<size_t>(pick(static_cast<int>(all.size()))) : 0];
  }

  CellGenotype draw_cell(const CellChoices& cell, const std::function<int(int)>& pick) const {
    CellGenotype result{cell.type, cell.inputs, {}, cell.output};
    for (const auto& choices : cell.nodes) {
      GenotypeNode node;
      for (const int input : pick_subset(choices.inputs, choices.keep, pick)) {
        node.edges.push_back({input, cell.ops_on_nodes ? "skip_connect" : pick_op(pick)});
      }
      if (cell.ops_on_nodes) node.op = pick_op(pick);
      result.nodes.push_back(std::move(node));
    }
    if (cell.output_keep > 0) result.output = pick_subset(cell.output, cell.output_keep, pick);
    return result;
  }

  const Space& space_;
};

class ControllerRelaxation : public Relaxation {
 public:
  explicit ControllerRelaxation(const RelaxationSetup& setup)
      : space_(setup.space),
        drawn_(without(setup.space, setup.options.exclude)),
        choices_(*drawn_),
        options_(choices_.largest()) {
    // Row 0 of the embedding starts the sequence; row i + 1 tells that choice i was made.
    embedding_ = weights({options_ + 1, kHidden}, setup.seed, "embedding");
    input_ = weights({4 * kHidden, kHidden}, setup.seed, "input");
    hidden_ = weights({4 * kHidden, kHidden}, setup.seed, "hidden");
    output_ = weights({options_, kHidden}, setup.seed, "output");
    bias_ = at::zeros({4 * kHidden}).requires_grad_();
  }

  std::vector<at::Tensor> parameters() const override { return {embedding_, input_, hidden_, output_, bias_}; }

  int candidates_at_once() const override { return 1; }
  Mixture mixture(const SearchPlace& place) const override {
    at::NoGradGuard no_grad;
    RandomStream random = stream_at(place, "controller");
    return one_hot(space_, draw(random).genotype);
  }

  // Frequencies among a few samples: the controller has no closed form.
  Mixture probabilities(const SearchPlace& place) const override {
    at::NoGradGuard no_grad;
    constexpr int kSamples = 64;
    Mixture mean;
    for (int i = 0; i < kSamples; ++i) {
      for (const auto& [type, cell] : one_hot(space_, sample(place, static_cast<uint64_t>(i)))) {
        auto& total = mean[type];
        total.ops = total.ops.defined() ? total.ops + cell.ops / kSamples : cell.ops / kSamples;
        if (cell.edges.defined())
          total.edges = total.edges.defined() ? total.edges + cell.edges / kSamples : cell.edges / kSamples;
      }
    }
    return mean;
  }

  Genotype sample(const SearchPlace& place, uint64_t index) const override {
    at::NoGradGuard no_grad;
    RandomStream random(place.seed, "sample", {static_cast<uint64_t>(place.step), index});
    return draw(random).genotype;
  }

  Policy policy(const SearchPlace& place) const override {
    RandomStream random = stream_at(place, "controller");
    return draw(random).policy;
  }

  void save(State& state, const std::string& prefix) const override {
    const auto all = parameters();
    for (size_t i = 0; i < all.size(); ++i) state.put(prefix + "controller." + std::to_string(i), all[i]);
  }
  void load(const State& state, const std::string& prefix) override {
    const auto all = parameters();
    for (size_t i = 0; i < all.size(); ++i) state.copy_into(prefix + "controller." + std::to_string(i), all[i]);
  }

 private:
  struct Drawn {
    Genotype genotype;
    Policy policy;
  };

  static at::Tensor weights(at::IntArrayRef shape, uint64_t seed, const std::string& name) {
    at::Tensor values = at::empty(shape, at::kFloat);
    RandomStream random(seed, "controller " + name);
    for (int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<float>()[i] = static_cast<float>(random.uniform(-0.1, 0.1));
    return values.requires_grad_();
  }

  // One LSTM step; returns the logits of the next choice.
  at::Tensor advance(int token, at::Tensor& state, at::Tensor& memory) const {
    const at::Tensor gates = at::mv(input_, embedding_[token]) + at::mv(hidden_, state) + bias_;
    const auto parts = gates.chunk(4);
    memory = parts[1].sigmoid() * memory + parts[0].sigmoid() * parts[2].tanh();
    state = parts[3].sigmoid() * memory.tanh();
    return kTanh * (at::mv(output_, state) / kTemperature).tanh();
  }

  static int pick(const at::Tensor& log_probabilities, RandomStream& random) {
    double left = random.uniform();
    const int count = static_cast<int>(log_probabilities.numel());
    for (int i = 0; i + 1 < count; ++i) {
      left -= std::exp(log_probabilities[i].item<double>());
      if (left < 0) return i;
    }
    return count - 1;
  }

  Drawn draw(RandomStream& random) const {
    Drawn drawn{{}, {at::zeros({}), at::zeros({})}};
    at::Tensor state = at::zeros({kHidden}), memory = at::zeros({kHidden});
    int token = 0;
    drawn.genotype = choices_.draw([&](int options) {
      const at::Tensor logs = advance(token, state, memory).narrow(0, 0, options).log_softmax(0);
      const int choice = pick(logs.detach(), random);
      drawn.policy.log_probability = drawn.policy.log_probability + logs[choice];
      drawn.policy.entropy = drawn.policy.entropy - (logs.exp() * logs).sum();
      token = choice + 1;
      return choice;
    });
    return drawn;
  }

  const Space& space_;
  std::shared_ptr<const Space> drawn_;  // without what is excluded
  Choices choices_;
  int64_t options_;
  at::Tensor embedding_, input_, hidden_, output_, bias_;
};

NASCENT_REGISTER(
    Relaxation, "controller", "an LSTM draws one architecture at a time (ENAS)",
    [](const RelaxationSetup& setup) { return std::make_unique<ControllerRelaxation>(setup); },
    RelaxationFacts{.domains = {}, .reads = {"search.sample-per-shard"}, .differentiable = false, .has_policy = true});

}  // namespace
}  // namespace nascent
