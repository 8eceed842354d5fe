#include "nascent/train/shards.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <cstring>

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/random.h"

namespace nascent {

void declare_shards(OptionTable& table, const std::string& section, int& shards) {
  table.section(section, "")
      .add("shards", shards,
           "equal parts that a batch is cut into, each with batch statistics of its own, so that up to so many "
           "processes "
           "share the work (mpirun); the result depends on it, not on the number of processes")
      .range(1, 65536);
}

void check_shards(int shards, int batch, bool alone) {
  if (batch % shards != 0 || (shards > 1 && batch / shards < 2)) {
    fail(
        "--shards {}: a batch of {} images cannot be cut into so many equal shards of two images or more. Choose "
        "another --shards or --batch.",
        shards, batch);
  }
  if (alone || cluster::size() == 1) return;
  if (shards == 1) {
    fail(
        "One training or search is spread over processes by --shards N, which cuts every batch into N; it is 1, but {} "
        "processes were started. Give --shards {}, or start it without mpirun or srun.",
        cluster::size(), cluster::size());
  }
  cluster::require_work(shards, "shards of a batch (--shards)");
}

TensorBatch Shard::of(const TensorBatch& batch) const {
  if (places == 1) return batch;
  const int64_t images = batch.labels.size(0) / places;
  return {batch.images.narrow(0, place * images, images), batch.labels.narrow(0, place * images, images)};
}

uint64_t Shard::own(uint64_t seed) const {
  if (index == 0) return seed;
  RandomStream random(seed, "shard", {static_cast<uint64_t>(index)});
  const uint64_t high = random();
  return high << 32 | random();
}

Shards::Shards(int count, Network& network) : count_(count) {
  if (count == 1) return;
  for (const auto& buffer : network.buffers()) {
    if (buffer.defined()) statistics_.push_back(buffer);
  }
}

int64_t Shards::first(int rank) const {
  return team_ == nullptr ? (rank == 0 ? 0 : count_) : static_cast<int64_t>(rank) * count_ / team_->size();
}

void Shards::restrict(Loader& loader) const {
  if (team_ != nullptr) loader.read_only(first(team_->rank()), first(team_->rank() + 1), count_);
}

namespace {

// sum += more, where undefined is nothing. Not in place: autograd may have given one tensor to two.
void add(Tensors& sums, const Tensors& more) {
  if (sums.empty()) sums.resize(more.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    if (more[i].defined()) sums[i] = sums[i].defined() ? sums[i] + more[i] : more[i];
  }
}

// Tensors on their way to another rank: type, number of sizes (-1: undefined), sizes, numbers.
void pack(const at::Tensor& tensor, std::string& bytes) {
  const auto put = [&](int64_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  if (!tensor.defined()) return put(-1);
  put(tensor.dim());
  put(static_cast<int64_t>(tensor.scalar_type()));
  for (const int64_t size : tensor.sizes()) put(size);
  bytes.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
}

class Unpacking {
 public:
  explicit Unpacking(const std::string& bytes) : bytes_(bytes) {}

  at::Tensor next() {
    const int64_t dimensions = number();
    if (dimensions < 0) return {};
    const auto type = static_cast<at::ScalarType>(number());
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < dimensions; ++i) sizes.push_back(number());
    at::Tensor tensor = at::empty(sizes, type);
    take(tensor.data_ptr(), tensor.nbytes());
    return tensor;
  }

 private:
  int64_t number() {
    int64_t value = 0;
    take(&value, sizeof(value));
    return value;
  }

  void take(void* to, size_t count) {
    TORCH_INTERNAL_ASSERT(count <= bytes_.size() - at_, "ranks exchange the same tensors");
    if (count > 0) std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }

  const std::string& bytes_;
  size_t at_ = 0;
};

// The rank that adds up tensor i. Known to all without a word, and neighbours, which often are alike in size, go apart.
int owner(size_t i, int ranks) { return static_cast<int>((i * 2654435761U >> 8) % static_cast<size_t>(ranks)); }

}  // namespace

// Every rank adds up some of the tensors, in the order of the shards, and tells all others the sum.
Tensors Shards::sum_over_ranks(const std::vector<Tensors>& mine) const {
  const int ranks = team_->size(), here = team_->rank();
  const size_t count = mine.front().size();
  std::vector<std::string> parts(ranks);
  for (const Tensors& shard : mine) {
    for (size_t i = 0; i < count; ++i) {
      if (owner(i, ranks) != here) pack(shard[i], parts[owner(i, ranks)]);
    }
  }
  parts = team_->exchange(std::move(parts));
  Tensors sums;
  for (int rank = 0; rank < ranks; ++rank) {
    Unpacking from(parts[rank]);
    for (int64_t shard = first(rank); shard < first(rank + 1); ++shard) {
      Tensors values(count);
      for (size_t i = 0; i < count; ++i) {
        if (owner(i, ranks) == here) values[i] = rank == here ? mine[shard - first(rank)][i] : from.next();
      }
      add(sums, values);
    }
  }
  std::string owned;
  for (size_t i = 0; i < count; ++i) {
    if (owner(i, ranks) == here) pack(sums[i], owned);
  }
  const auto all = team_->exchange(std::vector<std::string>(ranks, owned));
  std::vector<Unpacking> from(all.begin(), all.end());
  for (size_t i = 0; i < count; ++i) {
    if (owner(i, ranks) != here) sums[i] = from[owner(i, ranks)].next();
  }
  return sums;
}

Tensors Shards::mean(const std::function<Tensors(const Shard&)>& of) {
  if (count_ == 1) return of({});
  Tensors before;
  for (const auto& statistic : statistics_) before.push_back(statistic.clone());
  const auto put_back = [&] {
    for (size_t i = 0; i < before.size(); ++i) statistics_[i].copy_(before[i]);
  };
  const int rank = team_ == nullptr ? 0 : team_->rank();
  const int64_t first = this->first(rank), last = this->first(rank + 1);
  std::vector<Tensors> mine;
  Tensors sums;
  for (int64_t shard = first; shard < last; ++shard) {
    Tensors values = of({.index = shard, .place = shard - first, .places = last - first});
    at::NoGradGuard no_grad;
    // In one memory format, whoever computes them: sums over their elements depend on it.
    for (auto& value : values) value = value.defined() ? value.detach().contiguous() : value;
    for (size_t i = 0; i < before.size(); ++i) {
      values.push_back(statistics_[i].equal(before[i]) ? at::Tensor() : statistics_[i] - before[i]);
    }
    put_back();
    team_ == nullptr ? add(sums, values) : mine.push_back(std::move(values));
  }
  at::NoGradGuard no_grad;
  if (team_ != nullptr) sums = sum_over_ranks(mine);
  for (auto& sum : sums) sum = sum.defined() ? sum / count_ : sum;
  const size_t count = sums.size() - before.size();
  for (size_t i = 0; i < before.size(); ++i) {
    if (sums[count + i].defined()) statistics_[i].add_(sums[count + i]);
  }
  sums.resize(count);
  return sums;
}

}  // namespace nascent
