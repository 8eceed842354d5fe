#include "nascent/search/one_shot/one_shot_search.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/core/log.h"
#include "nascent/search/one_shot/collapse.h"
#include "nascent/search/one_shot/method_check.h"
#include "nascent/search/one_shot/one_hot.h"
#include "nascent/train/weights.h"

namespace nascent {

OneShotOptions::OneShotOptions() {
  weights.lr = 0.025;
  schedule.lr_min = 0.001;
}

void OneShotOptions::declare(OptionTable& table) {
  auto section = table.section("search", "Weight-sharing search.");
  section.add("epochs", epochs, "epochs over the training split").range(1, 100000);
  section.add("freeze-epochs", freeze_epochs, "initial epochs in which only the weights are trained").range(0, 100000);
  section.add("objective", objective, "which data the architecture is optimised on")
      .one_of(Objective::Registry::instance().names());
  section
      .add("blocks", blocks,
           "single-level: update weights and architecture together (both: on one batch; two-batches: on two), or one "
           "of them per step (cyclic, random)")
      .one_of({"both", "two-batches", "cyclic", "random"});
  section.add("discretisation", discretisation, "how the final cell is derived")
      .one_of(Discretisation::Registry::instance().names());
  section.add("samples", samples, "best-sample: number of architectures to sample and compare").range(1, 1e6);
  section
      .add("judge-images", judge_images,
           "held-out images (training images if nothing is held out) used to evaluate the supernet before and after "
           "discretisation, every epoch; 0: none")
      .at_least(0);
  section.add("auxiliary-weight", auxiliary_weight, "loss weight of the supernet's auxiliary head (network.auxiliary)")
      .range(0, 10);
  section.add("regularisers", regularisers,
              "penalties on the architecture, each a name and a strength, such as \"entropy 0.1\"");
  declare_shards(table, "search", shards);
  relaxation.declare(table);
  gradient.declare(table);
  update.declare(table);
  weights.declare(table, "weights", "How the supernet's weights are trained.");
  schedule.declare(table, "weights");
}

void OneShotSearch::EpochSums::add(const SearchStepResult& result, bool judged) {
  ++steps;
  train_loss += result.train_loss;
  train_top1 += result.train_top1;
  if (!judged) return;
  ++valid_steps;
  valid_loss += result.valid_loss;
  valid_top1 += result.valid_top1;
  second_ratio += std::max(0.0, result.second_ratio);
}

OneShotSearch::OneShotSearch(std::shared_ptr<const Space> space, std::shared_ptr<Network> supernet,
                             const LoaderMaker& loaders, const OneShotOptions& options, uint64_t seed)
    : space_(std::move(space)), supernet_(std::move(supernet)), loaders_(loaders), options_(options), seed_(seed) {
  check_method(options_, *space_);
  if (supernet_->plan().auxiliary.empty() && options_.auxiliary_weight != OneShotOptions().auxiliary_weight) {
    fail("--auxiliary-weight {}: the supernet has no auxiliary head. Switch network.auxiliary on.",
         options_.auxiliary_weight);
  }
  relaxation_ = Relaxation::Registry::instance().make(options.relaxation.relaxation,
                                                      RelaxationSetup{*space_, options_.relaxation, seed});
  problem_ = std::make_unique<OneShotLoss>(
      supernet_, *relaxation_, make_regularisers(options.regularisers, *space_, supernet_->plan()),
      SupernetRegularisation{.drop_path = options_.drop_path, .auxiliary_weight = options_.auxiliary_weight},
      Sharding{options_.shards, options_.relaxation.sample_per_shard});
  weights_ = make_optimizer(options_.weights, problem_->weights());
  update_ = ArchitectureUpdate::Registry::instance().make(
      options.update.update, UpdateSetup{options_.update, *relaxation_, options_.gradient.bound});
  gradient_ = ArchitectureGradient::Registry::instance().make(
      options.gradient.gradient, GradientSetup{*problem_, options_.gradient, options_.weights, *weights_});
  objective_ = Objective::Registry::instance().make(
      options.objective,
      ObjectiveSetup{*problem_, *gradient_, *update_, *weights_, options.weights.clip, options.blocks});
  train_ = loaders(SearchData::train);
  // Where nothing about the architecture is learnt, nobody looks at held-out images during the search.
  if (holds_out()) {
    if (!relaxation_->parameters().empty()) second_ = loaders(SearchData::held_out);
  } else if (options.blocks == "two-batches") {
    second_ = loaders(SearchData::train_again);
  }
  here_ = place(0, 0);
  supernet_->train();
}

OneShotSearch::~OneShotSearch() = default;

void OneShotSearch::join(cluster::Team& team) {
  problem_->shards().join(team);
  problem_->shards().restrict(*train_);
  if (second_) problem_->shards().restrict(*second_);
}

Genotype OneShotSearch::genotype() {
  return Discretisation::Registry::instance().make(
      options_.discretisation,
      DiscretisationSetup{*space_, relaxation_->log_strengths(here_),
                          [this](uint64_t index) { return relaxation_->sample(here_, index); },
                          [this](const Genotype& genotype) { return shared_accuracy(genotype); }, options_.samples});
}

Genotype OneShotSearch::leaning() const {
  if (relaxation_->parameters().empty()) return relaxation_->sample(here_, 0);
  return strongest_genotype(*space_, relaxation_->log_strengths(here_),
                            Discretisation::Registry::instance().at(options_.discretisation).facts.ranking);
}

bool OneShotSearch::holds_out() const { return Objective::Registry::instance().at(options_.objective).facts.holds_out; }

bool needs_plain_operations(const OneShotOptions& options) {
  const auto& reads = ArchitectureGradient::Registry::instance().at(options.gradient.gradient).facts.reads;
  return std::find(reads.begin(), reads.end(), "search.second-derivatives") != reads.end() &&
         differentiation(options.gradient.second_derivatives) == Differentiation::exact;
}

Loader& OneShotSearch::judge() {
  if (!judge_) judge_ = loaders_(SearchData::judge);
  if (!judge_) {
    judge_ = loaders_(SearchData::judge_train);
    judges_training_ = true;
  }
  return *judge_;
}

std::string OneShotSearch::judged_on() {
  judge();
  return judges_training_ ? "train_" : "";
}

std::string OneShotSearch::describe_data() {
  if (holds_out() && second_)
    return fmt::format("{} images train the weights, {} the architecture", train_->size(), second_->size());
  if (holds_out()) return fmt::format("{} images train the weights, the others are held out", train_->size());
  const std::string trained = fmt::format("{} images train weights and architecture", train_->size());
  judge();
  return judges_training_ ? trained : fmt::format("{}, {} are held out", trained, judge_->size());
}

double OneShotSearch::mixture_accuracy(NormStatistics norms) { return accuracy(relaxation_->expected(here_), norms); }
double OneShotSearch::shared_accuracy(const Genotype& genotype, NormStatistics norms) {
  return accuracy(one_hot(*space_, genotype), norms);
}

double OneShotSearch::accuracy(const Mixture& mixture, NormStatistics norms) {
  judge();
  return top1(predict(*supernet_, *judge_,
                      {.norms = norms, .images = options_.judge_images, .context = {.mixture = &mixture}}));
}

SearchPlace OneShotSearch::place(int64_t epoch, int64_t step) const {
  return {.seed = seed_, .epoch = epoch, .step = epoch * steps() + step, .steps = epochs() * steps()};
}

double OneShotSearch::weights_lr(int64_t epoch, int64_t step) const {
  const double at = static_cast<double>(epoch) + static_cast<double>(step) / static_cast<double>(steps());
  return learning_rate(options_.schedule, options_.weights.lr, at, static_cast<double>(epochs()));
}

void OneShotSearch::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  train_->start(epoch, first_step);
  // The held-out part may be smaller than the training part: it is passed over again within an epoch, in a new order
  // each time.
  if (second_) second_->start(epoch * steps() + first_step / second_->batches(), first_step % second_->batches());
  if (first_step == 0) sums_ = {};
}

TensorBatch OneShotSearch::next_second(int64_t epoch, int64_t step) {
  if (!second_) return {};
  if (step > 0 && step % second_->batches() == 0) second_->start(epoch * steps() + step / second_->batches());
  return to_tensors(*second_->next());
}

StepReport OneShotSearch::step(int64_t epoch, int64_t step, EventSink& events) {
  Batch batch = *train_->next();
  StepReport report;
  report.batch = batch.describe();
  SearchStep work;
  work.train = to_tensors(std::move(batch));
  work.valid = next_second(epoch, step);
  work.place = place(epoch, step);
  work.weights_lr = weights_lr(epoch, step);
  // Where nothing about the architecture is learnt there is nothing to move.
  work.architecture_frozen = epoch < options_.freeze_epochs || relaxation_->parameters().empty();
  const SearchStepResult result = objective_->step(work);
  const bool judged = holds_out() && !work.architecture_frozen;
  sums_.add(result, judged);
  here_ = place(epoch, step + 1);
  report.loss = judged ? result.train_loss + result.valid_loss : result.train_loss;
  report.gradient_norm = result.gradient_norm;
  report.note =
      fmt::format("epoch {}  loss {:.3f}  accuracy {:.1f} %", epoch + 1, result.train_loss, result.train_top1);
  Json values = {{"train_loss", result.train_loss}, {"train_top1", result.train_top1}, {"lr", work.weights_lr}};
  if (result.gradient_norm > 0) values["grad_norm"] = result.gradient_norm;
  if (judged) values.update({{"valid_loss", result.valid_loss}, {"valid_top1", result.valid_top1}});
  if (result.second_ratio >= 0) values["second_order_ratio"] = result.second_ratio;
  events.emit({"step", epoch, work.place.step + 1, std::move(values)});
  return report;
}

namespace {

Json to_json(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.data_ptr<double>();
  if (values.dim() == 1) return std::vector<double>(data, data + values.numel());
  Json rows = Json::array();
  for (int64_t i = 0; i < values.size(0); ++i) {
    rows.push_back(std::vector<double>(data + i * values.size(1), data + (i + 1) * values.size(1)));
  }
  return rows;
}

Json architecture_event(const Space& space, const Mixture& probabilities, const Genotype& genotype) {
  Json cells = Json::object();
  for (const auto& [type, cell] : probabilities) {
    cells[type]["probabilities"] = to_json(cell.ops);
    if (cell.edges.defined()) cells[type]["edges"] = to_json(cell.edges);
  }
  return {{"ops", space.ops()}, {"cells", std::move(cells)}, {"genotype", to_text(genotype, "json")}};
}

int skip_connections(const CellGenotype& cell) {
  int skips = 0;
  for (const auto& node : cell.nodes) {
    // Where operations stand on nodes, edges carry no choice of their own.
    if (!node.op.empty()) continue;
    skips += static_cast<int>(std::count_if(node.edges.begin(), node.edges.end(),
                                            [](const GenotypeEdge& edge) { return edge.op == "skip_connect"; }));
  }
  return skips;
}

}  // namespace

void OneShotSearch::end_epoch(int64_t epoch, EventSink& events) {
  const int64_t done = (epoch + 1) * steps();
  const Mixture probabilities = this->probabilities();
  const Genotype current = leaning();
  const auto n = static_cast<double>(std::max<int64_t>(sums_.steps, 1));
  Json values = {{"train_loss", sums_.train_loss / n}, {"train_top1", sums_.train_top1 / n}};
  if (sums_.valid_steps > 0) {
    const auto judged = static_cast<double>(sums_.valid_steps);
    values.update({{"valid_loss", sums_.valid_loss / judged}, {"valid_top1", sums_.valid_top1 / judged}});
    if (sums_.second_ratio > 0) values["second_order_ratio"] = sums_.second_ratio / judged;
  }
  values["lr"] = weights_lr(epoch, steps() - 1);
  values["entropy"] = mean_entropy(probabilities);
  if (options_.judge_images > 0) {
    values["supernet_" + judged_on() + "top1"] = mixture_accuracy();
    values["discretised_" + judged_on() + "top1"] = shared_accuracy(current);
    values["supernet_running_" + judged_on() + "top1"] = mixture_accuracy(NormStatistics::running);
    values["discretised_running_" + judged_on() + "top1"] = shared_accuracy(current, NormStatistics::running);
  }
  int skips = 0;
  for (const auto& cell : current.cells) skips += skip_connections(cell);
  values["skip_connections"] = skips;
  for (const auto& cell : current.cells) {
    if (current.cells.size() > 4) break;  // a curve per cell of a long network says nothing
    if (current.cells.size() > 1) values["skip_connections_" + cell.type] = skip_connections(cell);
    values["width_" + cell.type] = cell_width(cell);
    values["depth_" + cell.type] = cell_depth(cell);
  }
  events.emit({"epoch", epoch, done, std::move(values)});
  events.emit({"architecture", epoch, done, architecture_event(*space_, probabilities, current)});
  report_collapse(epoch, events);
}

std::string OneShotSearch::collapse() const {
  const bool learning = here_.step > options_.freeze_epochs * steps() && !relaxation_->parameters().empty();
  return learning ? describe(collapsed_cells(*space_, leaning(), probabilities())) : "";
}

// An event every epoch, a line in the terminal when it begins or changes.
void OneShotSearch::report_collapse(int64_t epoch, EventSink& events) {
  const std::string now = collapse();
  if (!now.empty()) events.emit({"collapse", epoch, (epoch + 1) * steps(), {{"text", now}}});
  if (!now.empty() && now != collapse_) log::warning("Epoch {}: the search has collapsed: {}.", epoch + 1, now);
  collapse_ = now;
}

void OneShotSearch::save(State& state, const std::string& prefix) const {
  save_weights(weights_of(*supernet_), state, prefix + "supernet.");
  relaxation_->save(state, prefix + "relaxation.");
  update_->save(state, prefix + "update.");
  gradient_->save(state, prefix + "gradient.");
  weights_->save(state, prefix + "weights.");
  state.values[prefix + "sums"] = {sums_.steps,      sums_.train_loss,  sums_.train_top1,  sums_.valid_loss,
                                   sums_.valid_top1, sums_.valid_steps, sums_.second_ratio};
  state.values[prefix + "here"] = {here_.epoch, here_.step};
}

void OneShotSearch::load(const State& state, const std::string& prefix) {
  load_weights(weights_of(*supernet_), state, prefix + "supernet.");
  relaxation_->load(state, prefix + "relaxation.");
  update_->load(state, prefix + "update.");
  gradient_->load(state, prefix + "gradient.");
  weights_->load(state, prefix + "weights.");
  const Json& sums = state.value(prefix + "sums");
  sums_ = {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6]};
  here_.epoch = state.value(prefix + "here")[0];
  here_.step = state.value(prefix + "here")[1];
}

}  // namespace nascent
