#include "nascent/train/trainer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>
#include <torch/autograd.h>

#include <algorithm>
#include <cmath>

namespace nascent {
namespace {

constexpr int64_t kStepsBetweenEvents = 10;

// Evaluations are saved as a tensor, which unlike JSON keeps numbers that are not finite.
void save_evaluation(const Evaluation& evaluation, State& state, const std::string& name) {
  at::Tensor numbers = at::empty({4}, at::kDouble);
  auto* value = numbers.data_ptr<double>();
  value[0] = evaluation.loss;
  value[1] = evaluation.top1;
  value[2] = evaluation.top5;
  value[3] = static_cast<double>(evaluation.images);
  state.put(name, numbers);
}

Evaluation load_evaluation(const State& state, const std::string& name) {
  at::Tensor numbers = at::empty({4}, at::kDouble);
  state.copy_into(name, numbers);
  const auto* value = numbers.data_ptr<double>();
  return {value[0], value[1], value[2], static_cast<int64_t>(value[3])};
}

}  // namespace

Trainer::Trainer(std::shared_ptr<Network> network, std::unique_ptr<Loader> train, std::unique_ptr<Loader> valid,
                 TrainOptions options, double drop_path, uint64_t seed, std::string watched)
    : network_(std::move(network)),
      train_(std::move(train)),
      valid_(std::move(valid)),
      options_(std::move(options)),
      drop_path_(drop_path),
      seed_(seed),
      watched_(std::move(watched)),
      shards_(options_.shards, *network_),
      weights_(weights_of(*network_)),
      optimizer_(make_optimizer(options_.optimizer, network_->parameters())) {
  if (options_.ema > 0) average_ = std::make_unique<WeightAverage>(*network_, options_.ema);
  network_->train();
}

Trainer::~Trainer() = default;

double Trainer::rate(int64_t epoch, int64_t step) const {
  const double position = static_cast<double>(epoch) + static_cast<double>(step) / static_cast<double>(steps());
  return learning_rate(options_.schedule, options_.optimizer.lr, position, static_cast<double>(epochs()));
}

double Trainer::drop_path(int64_t epoch) const {
  return drop_path_ * static_cast<double>(epoch) / static_cast<double>(std::max<int64_t>(1, epochs() - 1));
}

at::Tensor Trainer::loss(const NetworkOutput& output, const at::Tensor& labels) const {
  const at::Tensor main = classification_loss(output.logits, labels, options_.label_smoothing);
  if (!output.auxiliary.defined() || options_.auxiliary_weight == 0) return main;
  return main + options_.auxiliary_weight * classification_loss(output.auxiliary, labels, options_.label_smoothing);
}

void Trainer::start_epoch(int64_t epoch, int64_t first_step, EventSink&) {
  if (first_step == 0) totals_ = {};
  final_.reset();
  start_ = std::chrono::steady_clock::now();
  network_->train();
  train_->start(epoch, first_step);
}

void Trainer::join(cluster::Team& team) {
  shards_.join(team);
  shards_.restrict(*train_);
}

Trainer::Lesson Trainer::lesson(const TensorBatch& batch, int64_t epoch, int64_t step) {
  Tensors mean = shards_.mean([&](const Shard& shard) {
    const TensorBatch images = shard.of(batch);
    const auto output =
        network_->forward(images.images, {.drop_path = drop_path(epoch), .seed = shard.own(seed_), .step = step});
    const at::Tensor total = loss(output, images.labels);
    auto values = torch::autograd::grad({total}, optimizer_->parameters(), {}, /*retain_graph=*/false,
                                        /*create_graph=*/false, /*allow_unused=*/true);
    values.push_back(at::scalar_tensor(total.item<double>(), at::kDouble));
    values.push_back(at::scalar_tensor(count_top(output.logits, images.labels, 1), at::kDouble));
    return values;
  });
  const auto take = [&] {
    const double number = mean.back().item<double>();
    mean.pop_back();
    return number;
  };
  const double correct = take(), value = take();
  return {std::move(mean), value, std::llround(correct * shards_.count())};
}

StepReport Trainer::step(int64_t epoch, int64_t step, EventSink& events) {
  auto batch = train_->next();
  TORCH_INTERNAL_ASSERT(batch && batch->number == step, "the loader is at another step");
  StepReport report{.batch = batch->describe()};
  const auto images = std::ssize(batch->indices);
  const int64_t done = epoch * steps() + step;
  Lesson learnt = lesson(to_tensors(std::move(*batch), *network_), epoch, done);
  report.loss = learnt.loss;
  report.gradient_norm = clip_gradients(learnt.gradients, options_.optimizer.clip);
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) return report;

  const double lr = rate(epoch, step);
  apply(learnt.gradients, lr);
  totals_.loss += report.loss * static_cast<double>(images);
  totals_.correct += learnt.correct;
  totals_.images += images;
  const double top1 = 100.0 * static_cast<double>(learnt.correct) / static_cast<double>(images);
  if ((done + 1) % kStepsBetweenEvents == 0) {
    events.emit({"step",
                 epoch,
                 done + 1,
                 {{"loss", report.loss}, {"lr", lr}, {"grad_norm", report.gradient_norm}, {"top1", top1}}});
  }
  report.note = fmt::format("epoch {}  loss {:.3f}  accuracy {:.1f} %", epoch + 1, report.loss, top1);
  return report;
}

void Trainer::apply(const std::vector<at::Tensor>& gradients, double rate) {
  optimizer_->step(gradients, rate);
  if (average_) average_->update();
}

Evaluation Trainer::validate() {
  std::optional<WeightAverage::Shown> shown;
  if (average_) shown.emplace(*average_);
  return evaluate(*network_, *valid_);
}

void Trainer::keep_if_best(int64_t epoch) {
  if (valid_ && best_epoch_ >= 0 && !(last_.top1 > best_.top1)) return;
  best_ = last_;
  best_epoch_ = epoch;
  if (!valid_) return;
  const Weights& scored = average_ ? average_->weights() : weights_;
  if (best_weights_.empty()) {
    best_weights_ = copy_of(scored);
  } else {
    assign(scored, best_weights_);
  }
}

void Trainer::end_epoch(int64_t epoch, EventSink& events) {
  const auto images = static_cast<double>(totals_.images);
  Json values = {{"train_loss", totals_.loss / images},
                 {"train_top1", 100.0 * static_cast<double>(totals_.correct) / images}};
  if (valid_) {
    last_ = validate();
    values[watched_ + "_loss"] = last_.loss;
    values[watched_ + "_top1"] = last_.top1;
    values[watched_ + "_top5"] = last_.top5;
  }
  keep_if_best(epoch);
  values["lr"] = rate(epoch, steps() - 1);
  values["drop_path"] = drop_path(epoch);
  values["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  events.emit({"epoch", epoch, (epoch + 1) * steps(), values});
}

void Trainer::save(State& state, const std::string& prefix) const {
  save_weights(weights_, state, prefix + "network.");
  optimizer_->save(state, prefix + "optimizer.");
  if (average_) average_->save(state, prefix + "average.");
  save_weights(best_weights_, state, prefix + "best.");
  save_evaluation(last_, state, prefix + "last_evaluation");
  save_evaluation(best_, state, prefix + "best_evaluation");
  state.values[prefix + "trainer"] = {
      {"best_epoch", best_epoch_}, {"loss", totals_.loss}, {"correct", totals_.correct}, {"images", totals_.images}};
}

void Trainer::load(const State& state, const std::string& prefix) {
  load_weights(weights_, state, prefix + "network.");
  optimizer_->load(state, prefix + "optimizer.");
  if (average_) average_->load(state, prefix + "average.");
  last_ = load_evaluation(state, prefix + "last_evaluation");
  best_ = load_evaluation(state, prefix + "best_evaluation");
  const Json& values = state.value(prefix + "trainer");
  best_epoch_ = values.at("best_epoch").get<int64_t>();
  totals_ = {values.at("loss").get<double>(), values.at("correct").get<int64_t>(), values.at("images").get<int64_t>()};
  best_weights_.clear();
  final_.reset();
  if (!valid_ || best_epoch_ < 0) return;
  best_weights_ = copy_of(weights_);
  load_weights(best_weights_, state, prefix + "best.");
}

const Weights& Trainer::last_weights() {
  if (!final_) final_ = copy_of(average_ ? average_->weights() : weights_);
  return *final_;
}

void Trainer::restore_last() { assign(last_weights(), weights_); }

void Trainer::restore_best() {
  last_weights();
  assign(best_weights_.empty() ? *final_ : best_weights_, weights_);
}

}  // namespace nascent
