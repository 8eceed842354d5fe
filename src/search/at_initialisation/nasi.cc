#include "nascent/search/at_initialisation/nasi.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/nn/engine.h"
#include "nascent/train/loss.h"
#include "nascent/train/second_order.h"

namespace nascent {

void NasiOptions::declare(OptionTable& table) {
  auto section = table.section("nasi", "NASI: search at initialisation.");
  section.add("steps", steps, "number of sampled architectures over which the gradient is averaged").range(1, 1e7);
  section.add("mu", mu, "penalty coefficient for exceeding nu").range(0, 1e6);
  section.add("constraint", constraint, "whether nu is fixed or adapts to the samples").one_of({"fixed", "adaptive"});
  section.add("nu", nu, "bound on the trace norm (initial value if adaptive); 0: estimated from 50 samples")
      .at_least(0);
  section.add("average", average, "average of the samples' traces used to set nu").one_of({"median", "mean"});
  section.add("enlarge", enlarge, "nu is this multiple of that average").range(1e-3, 1e3);
  section
      .add("estimator", estimator,
           "gradient estimator: straight-through samples, likelihood ratio, or least-squares regression on the sampled "
           "choices")
      .one_of({"straight-through", "likelihood-ratio", "least-squares"});
  section.add("temperature", temperature, "temperature of the Gumbel softmax")
      .range(1e-3, 1e3)
      .flag("nasi.temperature");
  section.add("rounds", rounds, "number of steps of the distribution; the samples are divided among them")
      .range(1, 1000);
  section.add("stride", stride, "several rounds: by how much a step moves the logit that moves furthest")
      .range(1e-3, 1e3);
  section.add("run", run, "straight-through: evaluate all candidates, or only the sampled ones (cheaper, noisier)")
      .one_of({"all", "sampled"})
      .flag("candidates");
  section
      .add("second-derivatives", second_derivatives,
           "straight-through: exact (double backward), or finite differences (faster, less accurate)")
      .one_of({"exact", "finite"})
      .flag("nasi.second-derivatives");
}

namespace {

// Of equal logits the first is the larger, so that a search that learnt nothing has a result too.
std::vector<int> ranked(const at::Tensor& row) {
  const at::Tensor values = row.detach().to(at::kDouble).contiguous();
  const double* p = values.data_ptr<double>();
  std::vector<int> order(values.numel());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return p[a] > p[b]; });
  return order;
}

at::Tensor gumbel(const at::Tensor& like, RandomStream& random) {
  at::Tensor noise = at::empty(like.sizes(), at::kFloat);
  for (int64_t i = 0; i < noise.numel(); ++i) {
    noise.data_ptr<float>()[i] = static_cast<float>(-std::log(-std::log((random.uniform() + 1e-12) / (1 + 2e-12))));
  }
  return noise;
}

// Straight through: the `keep` largest become 1, the others 0, with the gradient of `soft`.
at::Tensor straight_through(const at::Tensor& soft, int keep) {
  const at::Tensor top = std::get<1>(soft.detach().topk(keep, -1));
  return at::zeros_like(soft).scatter(-1, top, 1.0) - soft.detach() + soft;
}

// Of the `keep` options whose perturbed logits are largest, in their order (Plackett and Luce); summed over rows.
at::Tensor log_probability_of(const at::Tensor& logits, const at::Tensor& noise, int keep) {
  const at::Tensor sorted = logits.gather(-1, (logits.detach() + noise).argsort(-1, /*descending=*/true));
  const at::Tensor not_taken_before = sorted.flip(-1).logcumsumexp(-1).flip(-1);
  return (sorted - not_taken_before).narrow(-1, 0, keep).sum();
}

}  // namespace

NasiCell::NasiCell(const Space& space, const CellChoices& choices)
    : ops_(space.ops()), genotype_ops_(space.genotype_ops()), choices_(choices), edges_(Space::edges(choices)) {
  bool chosen_inputs = choices.output_keep > 0;
  for (const auto& node : choices.nodes) chosen_inputs |= node.keep < static_cast<int>(node.inputs.size());
  int row = 0;
  for (const auto& node : choices.nodes) {
    Choice choice{.states = node.inputs, .rows = {}, .keep = node.keep, .logits = {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) choice.rows.push_back(row++);
    if (chosen_inputs) inputs_.push_back(std::move(choice));
  }
  if (choices.output_keep > 0) {
    Choice choice{.states = choices.output, .rows = {}, .keep = choices.output_keep, .logits = {}};
    for (size_t i = 0; i < choices.output.size(); ++i) choice.rows.push_back(row++);
    inputs_.push_back(std::move(choice));
  }
  for (Choice& choice : inputs_) {
    choice.logits = at::zeros({static_cast<int64_t>(choice.states.size())}).requires_grad_();
  }
  const auto rows = ops_by_edge() ? static_cast<int64_t>(edges_.size()) : static_cast<int64_t>(choices.nodes.size());
  op_logits_ = at::zeros({rows, static_cast<int64_t>(allowed_ops().size())}).requires_grad_();
}

// Columns of the space's operations that a genotype may contain.
std::vector<int> NasiCell::allowed_ops() const {
  std::vector<int> columns;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (std::find(genotype_ops_.begin(), genotype_ops_.end(), ops_[i]) != genotype_ops_.end()) {
      columns.push_back(static_cast<int>(i));
    }
  }
  return columns;
}

std::vector<at::Tensor> NasiCell::logits() const {
  std::vector<at::Tensor> all = {op_logits_};
  for (const Choice& choice : inputs_) all.push_back(choice.logits);
  return all;
}

CellMixture NasiCell::sample(RandomStream& random, double temperature, bool run_all) const {
  const std::vector<int> columns = allowed_ops();
  const at::Tensor soft = ((op_logits_ + gumbel(op_logits_, random)) / temperature).softmax(-1);
  const at::Tensor hard = straight_through(soft, 1);
  // Spread over all columns of the space.
  const at::Tensor index = at::tensor(std::vector<int64_t>(columns.begin(), columns.end()), at::kLong);
  const at::Tensor ops = at::zeros({op_logits_.size(0), static_cast<int64_t>(ops_.size())}).index_copy(1, index, hard);
  std::vector<int> chosen;
  const at::Tensor best = soft.detach().argmax(-1);
  for (int64_t i = 0; i < best.size(0); ++i) chosen.push_back(columns[best[i].item<int64_t>()]);
  CellMixture mixture;
  if (ops_by_edge() || choices_.ops_on_nodes) {
    mixture.ops = ops;
    for (const int op : chosen) mixture.active.push_back({op});
  }
  if (!inputs_.empty()) sample_edges(mixture, ops, chosen, random, temperature);
  if (run_all) mixture.active.clear();
  return mixture;
}

at::Tensor NasiCell::log_probability(RandomStream& random) const {
  at::Tensor sum = log_probability_of(op_logits_, gumbel(op_logits_, random), 1);
  for (const Choice& choice : inputs_) {
    const at::Tensor noise = gumbel(choice.logits, random);
    sum = sum + log_probability_of(choice.logits, noise, choices_.ops_on_nodes ? choice.keep : 1);
  }
  return sum;
}

// Where operations stand on nodes, edges get weights of their own. Where they stand on edges, each node runs the one
// operation that it drew on the one input that it drew.
void NasiCell::sample_edges(CellMixture& mixture, const at::Tensor& ops, const std::vector<int>& chosen,
                            RandomStream& random, double temperature) const {
  std::vector<at::Tensor> weights(edges_.size());
  if (!choices_.ops_on_nodes) mixture.active.resize(edges_.size());
  for (size_t node = 0; node < inputs_.size(); ++node) {
    const Choice& choice = inputs_[node];
    const at::Tensor soft = ((choice.logits + gumbel(choice.logits, random)) / temperature).softmax(-1);
    const at::Tensor hard = straight_through(soft, choices_.ops_on_nodes ? choice.keep : 1);
    const int64_t drawn = soft.detach().argmax().item<int64_t>();
    for (size_t i = 0; i < choice.rows.size(); ++i) {
      const int row = choice.rows[i];
      const at::Tensor weight = hard[static_cast<int64_t>(i)];
      weights[row] = choices_.ops_on_nodes ? weight : weight * ops[static_cast<int64_t>(node)];
      if (!choices_.ops_on_nodes && static_cast<int64_t>(i) == drawn) mixture.active[row] = {chosen[node]};
    }
  }
  (choices_.ops_on_nodes ? mixture.edges : mixture.ops) = at::stack(weights);
}

std::vector<int> NasiCell::best_inputs(size_t node) const {
  const Choice& choice = inputs_[node];
  std::vector<int> best = ranked(choice.logits);
  best.resize(choice.keep);
  for (int& i : best) i = choice.states[i];
  return best;
}

CellGenotype NasiCell::mode() const {
  const std::vector<int> columns = allowed_ops();
  const auto op = [&](size_t row, size_t rank) {
    const auto order = ranked(op_logits_[static_cast<int64_t>(row)]);
    return ops_[columns[order[rank % order.size()]]];
  };
  CellGenotype cell{choices_.type, choices_.inputs, {}, choices_.output};
  size_t row = 0;
  for (size_t n = 0; n < choices_.nodes.size(); ++n) {
    GenotypeNode node;
    const std::vector<int> states = inputs_.empty() ? choices_.nodes[n].inputs : best_inputs(n);
    for (size_t rank = 0; rank < states.size(); ++rank) {
      const std::string name = choices_.ops_on_nodes ? "skip_connect" : ops_by_edge() ? op(row++, 0) : op(n, rank);
      node.edges.push_back({states[rank], name});
    }
    std::stable_sort(node.edges.begin(), node.edges.end(),
                     [](const GenotypeEdge& a, const GenotypeEdge& b) { return a.from < b.from; });
    if (choices_.ops_on_nodes) node.op = op(n, 0);
    cell.nodes.push_back(std::move(node));
  }
  if (choices_.output_keep > 0) {
    cell.output = best_inputs(choices_.nodes.size());
    std::sort(cell.output.begin(), cell.output.end());
  }
  return cell;
}

Nasi::Nasi(std::shared_ptr<const Space> space, std::shared_ptr<Network> supernet, std::unique_ptr<Loader> data,
           const NasiOptions& options, uint64_t seed)
    : space_(std::move(space)),
      supernet_(std::move(supernet)),
      data_(std::move(data)),
      options_(options),
      seed_(seed),
      weights_(supernet_->parameters()) {
  supernet_->train();
  for (const auto& cell : space_->cells()) cells_.emplace_back(*space_, cell);
  int64_t size = 0;
  for (const auto& logits : this->logits()) {
    moved_.push_back(at::zeros(logits.sizes()));
    size += logits.numel();
  }
  regression_ = RewardRegression(size);
}

std::vector<at::Tensor> Nasi::logits() const {
  std::vector<at::Tensor> all;
  for (const NasiCell& cell : cells_) {
    for (const auto& logits : cell.logits()) all.push_back(logits);
  }
  return all;
}

int64_t Nasi::steps() const { return std::min<int64_t>(options_.steps, data_->batches()); }
int64_t Nasi::epochs() const { return (options_.steps + steps() - 1) / steps(); }

TensorBatch Nasi::next_batch() { return to_tensors(std::move(*data_->next()), *supernet_); }

Mixture Nasi::sample(const std::string& purpose, uint64_t index, bool run_all) const {
  RandomStream random(seed_, purpose, {index});
  Mixture mixture;
  for (size_t i = 0; i < cells_.size(); ++i) {
    mixture[space_->cells()[i].type] = cells_[i].sample(random, options_.temperature, run_all);
  }
  return mixture;
}

std::vector<at::Tensor> Nasi::likelihood_gradient(const std::string& purpose, uint64_t index) const {
  RandomStream random(seed_, purpose, {index});
  at::Tensor sum = at::zeros({});
  for (const NasiCell& cell : cells_) sum = sum + cell.log_probability(random);
  return dense_gradients(sum, logits());
}

Nasi::Measured Nasi::measure(const TensorBatch& batch, const std::string& purpose, uint64_t index, bool with_gradient) {
  const auto loss = [&](bool run_all) {
    const Mixture mixture = sample(purpose, index, run_all);
    return classification_loss(supernet_->forward(batch.images, {.mixture = &mixture}).logits, batch.labels);
  };
  // What was not drawn has no weight, so its parameters have no gradient and need not run here.
  const Tensors gradient = dense_gradients(loss(false), weights_);
  Measured measured;
  for (const auto& part : gradient) measured.trace += part.square().sum(at::kDouble).item<double>();
  if (with_gradient && by_likelihood()) measured.gradient = likelihood_gradient(purpose, index);
  if (!with_gradient || by_likelihood()) return measured;
  const Differentiation how = differentiation(options_.second_derivatives);
  const EngineScope scope(how == Differentiation::exact ? Engine::reference : engine());
  // d |g|^2 / d alpha = 2 (d^2 L / d alpha d w) g.
  measured.gradient = second_product([&] { return loss(options_.run == "all"); }, weights_, gradient, logits(), how);
  for (auto& part : measured.gradient) part.mul_(2);
  return measured;
}

void Nasi::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  if (epoch == 0 && first_step == 0) {
    first_nu_ = options_.nu;
    if (first_nu_ == 0) {
      constexpr uint64_t kSamples = 50;
      data_->start(0);
      const TensorBatch batch = next_batch();
      std::vector<double> traces;
      for (uint64_t i = 0; i < kSamples; ++i) traces.push_back(measure(batch, "nasi bound", i, false).trace);
      first_nu_ = options_.enlarge * typical(std::move(traces));
    }
  }
  data_->start(epoch, first_step);
}

double Nasi::typical(std::vector<double> traces) const {
  const auto count = static_cast<int64_t>(traces.size());
  if (options_.average == "mean")
    return std::accumulate(traces.begin(), traces.end(), 0.0) / static_cast<double>(count);
  std::nth_element(traces.begin(), traces.begin() + count / 2, traces.end());
  return traces[count / 2];
}

// 6.14 and 6.15.
double Nasi::nu() const {
  if (options_.constraint == "fixed") return first_nu_;
  std::vector<double> traces = traces_;
  traces.push_back(first_nu_ / options_.enlarge);
  return options_.enlarge * typical(std::move(traces));
}

StepReport Nasi::step(int64_t epoch, int64_t step, EventSink& events) {
  const int64_t done = epoch * steps() + step;
  const Measured measured = measure(next_batch(), "nasi sample", static_cast<uint64_t>(done), true);
  const double bound = nu();
  const bool penalised = measured.trace > bound;
  const double reward = measured.trace - (penalised ? options_.mu * (measured.trace - bound) : 0);  // R of 6.9
  rewards_ += reward;
  ++in_round_;
  traces_.push_back(measured.trace);
  // G is this factor times the gradient that was measured: dR / d trace, or how much R is above its mean so far.
  const double factor = by_likelihood() ? reward - rewards_ / static_cast<double>(in_round_)
                        : penalised     ? 1 - options_.mu
                                        : 1;
  double square = 0;
  for (const auto& gradient : measured.gradient) square += gradient.square().sum(at::kDouble).item<double>();
  const double norm = std::abs(factor) * std::sqrt(square);
  largest_ = std::max(largest_, norm);
  if (by_least_squares()) {
    std::vector<at::Tensor> scores;
    for (const auto& part : measured.gradient) scores.push_back(part.reshape(-1));
    regression_.observe(at::cat(scores), reward);
  } else {
    for (size_t i = 0; i < moved_.size() && largest_ > 0; ++i) {
      moved_[i].add_(measured.gradient[i], factor / largest_);
    }
  }
  events.emit({"step", epoch, done + 1, {{"trace", measured.trace}, {"nu", bound}, {"penalised", penalised}}});
  const auto round_of = [&](int64_t sample) { return sample * options_.rounds / options_.steps; };
  if (done + 1 < options_.steps && round_of(done + 1) > round_of(done)) end_round();
  return {.loss = measured.trace, .gradient_norm = norm, .note = fmt::format("trace {:.3g}", measured.trace)};
}

// Delta*, but for a factor.
std::vector<at::Tensor> Nasi::direction() const {
  if (!by_least_squares()) return moved_;
  std::vector<int64_t> sizes;
  for (const auto& part : moved_) sizes.push_back(part.numel());
  std::vector<at::Tensor> parts = regression_.coefficients().split_with_sizes(sizes);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].view_as(moved_[i]);
  return parts;
}

// Where this round leads. Of a first one that is the direction itself: alpha_0 = 0, and its length does not change the
// mode.
std::vector<at::Tensor> Nasi::next_logits() const {
  std::vector<at::Tensor> next = direction();
  double furthest = 0;
  for (const auto& part : next) furthest = std::max(furthest, part.abs().max().item<double>());
  const double scale = furthest > 0 ? options_.stride / furthest : 0;
  const auto now = logits();
  for (size_t i = 0; i < next.size(); ++i) next[i] = now[i].detach() + next[i] * scale;
  return next;
}

void Nasi::set_logits(const std::vector<at::Tensor>& values) {
  at::NoGradGuard no_grad;
  const auto logits = this->logits();
  for (size_t i = 0; i < logits.size(); ++i) at::Tensor(logits[i]).copy_(values[i]);
}

void Nasi::end_round() {
  set_logits(next_logits());
  int64_t size = 0;
  for (auto& part : moved_) {
    part.zero_();
    size += part.numel();
  }
  regression_ = RewardRegression(size);
  largest_ = rewards_ = 0;
  in_round_ = 0;
}

Genotype Nasi::genotype() const {
  const auto logits = next_logits();
  Genotype genotype{space_->name(), {}};
  size_t first = 0;
  for (size_t i = 0; i < cells_.size(); ++i) {
    NasiCell cell(*space_, space_->cells()[i]);
    at::NoGradGuard no_grad;
    for (const auto& part : cell.logits()) at::Tensor(part).copy_(logits[first++]);
    genotype.cells.push_back(cell.mode());
  }
  space_->validate(genotype);
  return genotype;
}

void Nasi::save(State& state, const std::string& prefix) const {
  for (size_t i = 0; i < moved_.size(); ++i) state.put(fmt::format("{}moved.{}", prefix, i), moved_[i]);
  if (by_least_squares()) regression_.save(state, prefix + "regression");
  const auto logits = this->logits();
  for (size_t i = 0; i < logits.size(); ++i) state.put(fmt::format("{}logits.{}", prefix, i), logits[i].detach());
  state.values[prefix + "nasi"] = {largest_, first_nu_, rewards_, traces_, in_round_};
}

void Nasi::load(const State& state, const std::string& prefix) {
  for (size_t i = 0; i < moved_.size(); ++i) state.copy_into(fmt::format("{}moved.{}", prefix, i), moved_[i]);
  if (by_least_squares()) regression_.load(state, prefix + "regression");
  std::vector<at::Tensor> logits;
  for (const auto& part : this->logits()) {
    logits.push_back(at::zeros(part.sizes()));
    state.copy_into(fmt::format("{}logits.{}", prefix, logits.size() - 1), logits.back());
  }
  set_logits(logits);
  const Json& values = state.value(prefix + "nasi");
  largest_ = values.at(0);
  first_nu_ = values.at(1);
  rewards_ = values.at(2);
  traces_ = values.at(3).get<std::vector<double>>();
  in_round_ = values.at(4);
}

}  // namespace nascent
