// The LibTorch network of a plan: derived networks and supernets alike.
//
//   Network network(plan_network(space, genotype, options, {3, 32, 32}, 10), seed);
//   auto [logits, auxiliary] = network.forward(images);
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nascent/nn/mixture.h"
#include "nascent/space/plan.h"

namespace nascent {

class Cell;
class StageSequence;

struct NetworkOutput {
  at::Tensor logits;
  at::Tensor auxiliary;  // undefined unless training with an auxiliary head
};

// What one forward pass needs beyond the images.
struct ForwardContext {
  const Mixture* mixture = nullptr;  // required where the plan is mixed
  double drop_path = 0;  // probability of dropping an edge (not a skip) of a cell, per image; training mode only
  uint64_t seed = 0;     // with `step`, decides what is dropped
  int64_t step = 0;
  bool drop_together = false;  // MC DropPath: one draw for all images of the pass, whatever batches they come in
};

class Network : public torch::nn::Module {
 public:
  // Weights are drawn by parameter name from `seed`, so they do not depend on the order of construction.
  Network(NetworkPlan plan, uint64_t seed, const std::string& initialiser = "torch");
  ~Network() override;

  // `images` is [N, C, H, W] in any memory format.
  NetworkOutput forward(const at::Tensor& images, const ForwardContext& context = {});
  const NetworkPlan& plan() const { return plan_; }
  // True where cells have weights to take from a mixture.
  bool is_mixed() const;
  // The memory format of plain operations; by itself the network takes what is faster. For benchmarks.
  void use_channels_last(bool on) { channels_last_ = on; }

 private:
  void check(const at::Tensor& images, const ForwardContext& context) const;
  const CellMixture* mixture_of(const Cell& cell, const ForwardContext& context) const;

  NetworkPlan plan_;
  bool channels_last_ = true;
  std::vector<std::shared_ptr<StageSequence>> stems_;
  std::vector<std::shared_ptr<Cell>> cells_;
  std::shared_ptr<StageSequence> head_, auxiliary_;  // auxiliary_: null where the plan has none
};

}  // namespace nascent
