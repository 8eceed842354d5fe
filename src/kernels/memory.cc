#include "kernels/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

namespace nascent::kernels {

namespace {

constexpr size_t kAlignment = 64, kHugePage = size_t{2} << 20;

// Sizes are rounded up to one of eight steps per power of two, so that nearly equal requests share blocks.
size_t rounded(size_t bytes) {
  size_t step = kAlignment;
  while (step * 16 < bytes) step *= 2;
  return (std::max(bytes, kAlignment) + step - 1) / step * step;
}

class Pool {
 public:
  // Never destroyed: blocks may be freed by other static objects at the end of the program.
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  // Sets `bytes` to the size of what it gives: the smallest kept block that is large enough, unless most of it would
  // lie idle. What one pass of a step leaves is so used by the next, which asks for other sizes.
  float* take(size_t& bytes) {
    constexpr size_t kMostTimes = 4;
    const std::lock_guard lock(mutex_);
    float* data = nullptr;
    if (const auto kept = kept_.lower_bound(bytes); kept != kept_.end() && kept->first <= kMostTimes * bytes) {
      bytes = kept->first;
      data = kept->second;
      kept_.erase(kept);
    } else {
      data = allocate(bytes);
    }
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    return data;
  }

  void give_back(float* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    kept_.emplace(bytes, data);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    for (const auto& [bytes, data] : kept_) std::free(data);
    kept_.clear();
  }

  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }

 private:
  static float* allocate(size_t bytes) {
    const bool huge = bytes >= kHugePage;
    void* data = std::aligned_alloc(huge ? kHugePage : kAlignment,
                                    huge ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes);
    if (!data) throw std::bad_alloc();
    if (huge) madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<float*>(data);
  }

  std::mutex mutex_;
  std::multimap<size_t, float*> kept_;
  size_t in_use_ = 0, peak_ = 0;
};

bool meet(const Resident& a, const Resident& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Block::Block(size_t floats) : bytes_(rounded(floats * sizeof(float))) { data_ = Pool::instance().take(bytes_); }

Block::~Block() {
  if (data_) Pool::instance().give_back(data_, bytes_);
}

Block::Block(Block&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Block& Block::operator=(Block&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

size_t block_bytes_in_use() { return Pool::instance().in_use(); }
size_t block_bytes_peak() { return Pool::instance().peak(); }
void release_kept_blocks() { Pool::instance().release(); }

MemoryPlan plan_memory(const std::vector<Resident>& residents) {
  constexpr size_t kStep = kAlignment / sizeof(float);
  MemoryPlan plan;
  plan.offsets.resize(residents.size());
  std::vector<size_t> order(residents.size()), placed;
  std::iota(order.begin(), order.end(), size_t{0});
  // Large ones first: they fit worst into gaps.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return residents[a].floats > residents[b].floats; });
  for (const size_t index : order) {
    const Resident& resident = residents[index];
    size_t offset = 0;
    for (const size_t other : placed) {  // in the order of their offsets
      if (!meet(resident, residents[other])) continue;
      if (offset + resident.floats <= plan.offsets[other]) break;
      offset = std::max(offset, (plan.offsets[other] + residents[other].floats + kStep - 1) / kStep * kStep);
    }
    plan.offsets[index] = offset;
    plan.floats = std::max(plan.floats, offset + resident.floats);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  index);
  }
  return plan;
}

}  // namespace nascent::kernels
