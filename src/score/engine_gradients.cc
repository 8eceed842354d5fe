#include "nascent/score/engine_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <set>

#include "nascent/nn/engine.h"
#include "nascent/nn/lowered_cell.h"
#include "nascent/nn/sample_observer.h"

namespace nascent {

namespace {

bool in_cell(const std::string& name) { return name.starts_with("cell"); }

bool has_parameters(const Step& step) { return step.weight.defined() || step.scale.defined() || step.bias.defined(); }

// Keeps what it is told.
class Records : public SampleObserver {
 public:
  struct Applied {
    const Layer* layer;
    at::Tensor x, y;
  };
  struct Differentiated {
    std::vector<double> squares;
    double deviations = 0;
  };

  void layer_applied(const Layer& layer, const at::Tensor& x, const at::Tensor& y) override {
    applied.push_back({&layer, x.detach(), y});
  }
  void cell_differentiated(const at::Tensor& parameter, std::vector<double> squares, double deviations) override {
    differentiated[parameter.unsafeGetTensorImpl()] = {std::move(squares), deviations};
  }

  std::vector<Applied> applied;
  std::map<const at::TensorImpl*, Differentiated> differentiated;
};

}  // namespace

bool EngineGradients::can_compute(const Tape& tape, const Network& network) {
  if (engine() != Engine::fused || !tape.evaluates() || network.is_mixed()) return false;
  const auto fits = [](const at::Tensor& parameter) {
    return parameter.is_cpu() && parameter.scalar_type() == at::kFloat && parameter.requires_grad();
  };
  const std::vector<at::Tensor> parameters = network.parameters();
  const std::vector<CellPlan>& cells = network.plan().cells;
  if (!std::all_of(parameters.begin(), parameters.end(), fits)) return false;
  if (!std::all_of(cells.begin(), cells.end(), [](const CellPlan& cell) { return lower(cell, {}).plain.empty(); }))
    return false;
  std::set<int> outside;
  for (const Step& step : tape.steps()) {
    if (!has_parameters(step) || in_cell(tape.layers()[step.layer])) continue;
    if (!outside.insert(step.layer).second) return false;
  }
  return true;
}

EngineGradients::EngineGradients(const Tape& tape, Network& network) : tape_(tape), network_(network) {
  std::map<std::string, const Step*> live;
  for (const Step& step : tape.steps()) {
    if (step.live && has_parameters(step)) live[tape.layers()[step.layer]] = &step;
  }
  for (const auto& item : network.named_modules("", /*include_self=*/false)) {
    const auto* layer = item.value()->as<Layer>();
    const auto found = live.find(item.key());
    if (layer && found != live.end() && !in_cell(item.key())) outside_[layer] = found->second;
  }
  for (const auto& item : network.named_parameters()) {
    const std::string layer = item.key().substr(0, item.key().rfind('.'));
    if (in_cell(item.key()) && live.contains(layer)) inside_.push_back({layer, item.key(), item.value()});
  }
}

void EngineGradients::for_each_moment(const at::Tensor& images, const at::Tensor& labels,
                                      const MomentsVisitor& visit) const {
  Records records;
  std::vector<at::Tensor> gradients;
  {
    const SampleObserverScope scope(records);
    const at::AutoGradMode enabled(true);
    const at::Tensor logits = network_.forward(images).logits;
    std::erase_if(records.applied, [&](const auto& applied) { return !outside_.contains(applied.layer); });
    std::vector<at::Tensor> sources;
    for (const auto& applied : records.applied) sources.push_back(applied.y);
    for (const CellParameter& parameter : inside_) sources.push_back(parameter.tensor);
    gradients = torch::autograd::grad({logits}, sources, {cross_entropy_seed(logits.detach(), labels)},
                                      /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
  }
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < records.applied.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Step& step = *outside_.at(records.applied[i].layer);
    const Trace::Norm norm = step.kind == StepKind::batch_norm ? running_norm(step) : Trace::Norm{};
    const at::Tensor& x = records.applied[i].x;
    nascent::for_each_moment(tape_, step, x.dim() == 4 ? channels_last(x) : x, norm, gradients[i], visit);
  }
  for (size_t i = 0; i < inside_.size(); ++i) {
    const auto found = records.differentiated.find(inside_[i].tensor.unsafeGetTensorImpl());
    const at::Tensor& sum = gradients[records.applied.size() + i];
    if (found == records.differentiated.end() || !sum.defined()) continue;
    visit({.layer = inside_[i].layer,
           .parameter = inside_[i].name,
           .sizes = inside_[i].tensor.sizes().vec(),
           .mean = sum.reshape({-1}).to(at::kDouble) / static_cast<double>(labels.size(0)),
           .squares = found->second.squares,
           .deviations = found->second.deviations});
  }
}

}  // namespace nascent
