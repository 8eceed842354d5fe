// Batches cut into shards of the same size, each a batch with statistics of its own, as in data-parallel training.
// Their number decides what is computed; the number of ranks that share them does not.
//
//   Shards shards(4, *network);
//   const Tensors mean = shards.mean([&](const Shard& shard) { return gradients(loss(shard.of(batch)), weights); });
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "nascent/cluster/team.h"
#include "nascent/data/loader.h"
#include "nascent/nn/network.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/second_order.h"

namespace nascent {

// The option --shards of a section.
void declare_shards(OptionTable& table, const std::string& section, int& shards);
// An Error where batches of this size cannot be cut into so many shards, or the ranks are more than these. `alone`: one
// rank does them all, whoever else there is.
void check_shards(int shards, int batch, bool alone = false);

struct Shard {
  int64_t index = 0;              // among all
  int64_t place = 0, places = 1;  // among those of this rank, whose images a batch holds here
  TensorBatch of(const TensorBatch& batch) const;
  // For what every shard draws for itself, such as the paths that it drops.
  uint64_t own(uint64_t seed) const;
};

class Shards {
 public:
  // `network` keeps running statistics: a batch moves them by the mean of what its shards would. It outlives this.
  Shards(int count, Network& network);

  int count() const { return count_; }
  // From now on the ranks share the shards. `team` outlives this.
  void join(cluster::Team& team) { team_ = &team; }
  // Batches from this loader will hold the images of this rank's shards only.
  void restrict(Loader& loader) const;

  // The mean over all shards of what `of` gives, the same on every rank; undefined where no shard has a tensor, and 0
  // where one lacks what others have. With one shard, what `of` gives.
  Tensors mean(const std::function<Tensors(const Shard&)>& of);

 private:
  int64_t first(int rank) const;  // shard of a rank
  Tensors sum_over_ranks(const std::vector<Tensors>& mine) const;

  int count_;
  std::vector<at::Tensor> statistics_;  // the network's own
  cluster::Team* team_ = nullptr;       // null: one process
};

}  // namespace nascent
