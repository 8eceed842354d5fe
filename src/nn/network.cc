#include "nascent/nn/network.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/nn/cell.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/initialiser.h"
#include "nascent/nn/sample_observer.h"
#include "nascent/nn/stage_sequence.h"

namespace nascent {

namespace {

// A supernet step in channels-last takes 0.8 to 0.95 of the time from 8 channels on, but 1.4 times as long with 4,
// where LibTorch's batch norm is slow.
constexpr int kChannelsLastFrom = 8;

bool prefers_channels_last(const NetworkPlan& plan) {
  int fewest = plan.stems.empty() ? plan.input.channels : output_shape(plan.stems[0], plan.input).channels;
  for (const CellPlan& cell : plan.cells) {
    int partial = 1;
    for (const NodePlan& node : cell.nodes) {
      partial = std::max(partial, node.partial);
      for (const EdgePlan& edge : node.edges) partial = std::max(partial, edge.partial);
    }
    for (const Shape& state : state_shapes(cell)) fewest = std::min(fewest, state.channels / partial);
  }
  return fewest >= kChannelsLastFrom;
}

// What cells give may be bf16.
at::Tensor in_float(const at::Tensor& x) { return x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x; }

at::Tensor through_layers(const StageSequence& stages, const at::Tensor& x) {
  SampleObserver* observer = sample_observer();
  at::Tensor result = x;
  for (const auto& layer : stages.layers()) {
    const at::Tensor y = layer->forward(result);
    if (observer) observer->layer_applied(*layer, result, y);
    result = y;
  }
  return result;
}

}  // namespace

Network::Network(NetworkPlan plan, uint64_t seed, const std::string& initialiser)
    : plan_(std::move(plan)), channels_last_(prefers_channels_last(plan_)) {
  for (const Stages& stem : plan_.stems) {
    stems_.push_back(register_module(fmt::format("stem{}", stems_.size()), std::make_shared<StageSequence>(stem)));
  }
  for (const CellPlan& cell : plan_.cells) {
    cells_.push_back(register_module(fmt::format("cell{}", cells_.size()), std::make_shared<Cell>(cell)));
  }
  head_ = register_module("head", std::make_shared<StageSequence>(plan_.head));
  if (!plan_.auxiliary.empty()) {
    auxiliary_ = register_module("auxiliary", std::make_shared<StageSequence>(plan_.auxiliary));
  }
  initialise(*this, seed, initialiser);
}

Network::~Network() = default;

bool Network::is_mixed() const {
  return std::any_of(cells_.begin(), cells_.end(), [](const auto& cell) { return cell->is_mixed(); });
}

void Network::check(const at::Tensor& images, const ForwardContext& context) const {
  const Shape& expected = plan_.input;
  if (images.dim() != 4 || images.size(1) != expected.channels || images.size(2) != expected.height ||
      images.size(3) != expected.width) {
    fail("The network takes images of {}x{}x{} (channels x height x width), but was given a tensor of [{}].",
         expected.channels, expected.height, expected.width, fmt::join(images.sizes(), ", "));
  }
  if (!(context.drop_path >= 0 && context.drop_path < 1)) {
    fail("The probability of dropping a path is {}, but must be at least 0 and below 1.", context.drop_path);
  }
}

const CellMixture* Network::mixture_of(const Cell& cell, const ForwardContext& context) const {
  if (!cell.is_mixed()) return nullptr;
  const auto found = context.mixture ? context.mixture->find(cell.type()) : Mixture::const_iterator();
  if (!context.mixture || found == context.mixture->end()) {
    fail("This network of space '{}' is a supernet: its forward pass needs a mixture with weights for cell type '{}'.",
         plan_.space, cell.type());
  }
  cell.check(found->second);
  return &found->second;
}

NetworkOutput Network::forward(const at::Tensor& images, const ForwardContext& context) {
  check(images, context);
  at::Tensor last = images.contiguous(channels_last_ || engine() == Engine::fused ? at::MemoryFormat::ChannelsLast
                                                                                  : at::MemoryFormat::Contiguous);
  at::Tensor before_last;
  for (const auto& stem : stems_) {
    before_last = last;
    last = through_layers(*stem, last);
  }
  if (stems_.size() < 2) before_last = last;
  NetworkOutput output;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = *cells_[i];
    const std::vector<at::Tensor> inputs =
        cell.inputs() == 1 ? std::vector<at::Tensor>{last} : std::vector<at::Tensor>{before_last, last};
    const CellContext cell_context{.mixture = mixture_of(cell, context),
                                   .drop_path = is_training() ? context.drop_path : 0,
                                   .seed = context.seed,
                                   .step = static_cast<uint64_t>(context.step),
                                   .cell = i,
                                   .drop_together = context.drop_together};
    before_last = last;
    last = cell.forward(inputs, cell_context);
    if (auxiliary_ && is_training() && static_cast<int>(i) == plan_.auxiliary_cell) {
      output.auxiliary = auxiliary_->forward(in_float(last));
    }
  }
  output.logits = through_layers(*head_, in_float(last));
  return output;
}

}  // namespace nascent
