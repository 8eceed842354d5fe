// The optimisation problem behind a search: a loss that depends on shared weights and on architecture parameters.
// Objectives and architecture gradients are written against this and know nothing of data loading, checkpoints or
// reports.
#pragma once

#include <memory>
#include <vector>

#include "nascent/nn/network.h"
#include "nascent/search/one_shot/regulariser.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/second_order.h"
#include "nascent/train/shards.h"

namespace nascent {

// What makes the supernet's training harder, as in the training of what is found.
struct SupernetRegularisation {
  double drop_path = 0;         // probability of dropping an edge at the end; it rises in a line from 0
  double auxiliary_weight = 0;  // of the loss of the auxiliary head, where the supernet has one
};

// How batches are cut (train/shards.h).
struct Sharding {
  int shards = 1;
  bool sample_per_shard = false;
};

class OneShotLoss {
 public:
  OneShotLoss(std::shared_ptr<Network> supernet, Relaxation& relaxation,
              std::vector<std::unique_ptr<Regulariser>> regularisers, SupernetRegularisation hardening = {},
              Sharding sharding = {});

  struct Loss {
    at::Tensor value;  // what is minimised
    double top1 = 0;   // percent of the batch
  };
  // Cross-entropy of a shard of the batch under the relaxation's mixture at `place`; `regularised` adds the penalty of
  // the architecture.
  Loss loss(const TensorBatch& batch, const SearchPlace& place, const Shard& shard = {}, bool regularised = false);
  // The same under a given mixture; `place` decides which paths are dropped.
  Loss loss(const TensorBatch& batch, const Mixture& mixture, const SearchPlace& place = {}, const Shard& shard = {});

  // Tensors, and what a shard, or a batch, was seen to score.
  struct Scored {
    Tensors tensors{};
    double loss = 0, top1 = 0;
  };
  // The mean over the shards of the batch of what `of` gives for each.
  Scored mean(const std::function<Scored(const Shard&)>& of);
  // Gradients of the loss of a whole batch, undefined where it does not depend on an input.
  Scored gradients(const TensorBatch& batch, const SearchPlace& place, const Tensors& inputs, bool regularised = false);
  // Where a shard draws its sample.
  SearchPlace place_of(const Shard& shard, const SearchPlace& place) const;
  const Sharding& sharding() const { return sharding_; }
  Shards& shards() { return shards_; }
  // What the regularisers add up to; a scalar zero where there are none.
  at::Tensor penalty(const SearchPlace& place) const;

  const Tensors& weights() const { return weights_; }
  Tensors architecture() const { return relaxation_.parameters(); }
  Relaxation& relaxation() { return relaxation_; }
  Network& supernet() { return *supernet_; }

 private:
  std::shared_ptr<Network> supernet_;
  Relaxation& relaxation_;
  std::vector<std::unique_ptr<Regulariser>> regularisers_;
  SupernetRegularisation hardening_;
  Sharding sharding_;
  Shards shards_;
  Tensors weights_;
};

}  // namespace nascent
