#include "nascent/kernels/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define NASCENT_FORBID(data, bytes) ASAN_POISON_MEMORY_REGION(data, bytes)
#define NASCENT_ALLOW(data, bytes) ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#else
#define NASCENT_FORBID(data, bytes) static_cast<void>(0)
#define NASCENT_ALLOW(data, bytes) static_cast<void>(0)
#endif

namespace nascent::kernels {

namespace {

constexpr size_t kAlignment = 64, kHugePage = size_t{2} << 20;

size_t rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// Addresses that the process may still take (ulimit -v). The pool must not take them all: malloc, BLAS and the stacks
// of threads need theirs.
size_t addresses_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<size_t>::max();
  std::ifstream file("/proc/self/statm");
  size_t pages = 0;
  file >> pages;
  const size_t taken = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

// One range of addresses, as large as the machine's memory; the system gives it memory as it is touched. Blocks are cut
// from its lowest free place, so what one pass leaves is used by the next, whatever sizes that asks for, and little
// more is ever touched than was in use at once.
class Pool {
 public:
  // Never destroyed: blocks may be freed by other static objects at the end of the program.
  static Pool& instance() {
    static Pool* pool = new Pool;
    return *pool;
  }

  float* take(size_t bytes) {
    const size_t whole = with_gap(bytes);
    const std::lock_guard lock(mutex_);
    const auto place =
        std::find_if(free_.begin(), free_.end(), [&](const auto& range) { return range.second >= whole; });
    if (place == free_.end()) throw std::bad_alloc();
    const auto [offset, room] = *place;
    free_.erase(place);
    if (room > whole) free_.emplace(offset + whole, room - whole);
    in_use_ += bytes;
    NASCENT_ALLOW(base_ + offset, bytes);
    NASCENT_FORBID(base_ + offset + bytes, whole - bytes);
    return reinterpret_cast<float*>(base_ + offset);
  }

  void give_back(float* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    NASCENT_FORBID(data, bytes);
    auto range = free_.emplace(reinterpret_cast<char*>(data) - base_, with_gap(bytes)).first;
    if (const auto next = std::next(range); next != free_.end() && range->first + range->second == next->first) {
      range->second += next->second;
      free_.erase(next);
    }
    if (range == free_.begin()) return;
    if (const auto before = std::prev(range); before->first + before->second == range->first) {
      before->second += range->second;
      free_.erase(range);
    }
  }

  size_t in_use() const { return in_use_; }

 private:
  Pool() {
    const size_t machine = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    size_t bytes = rounded(std::min(machine, addresses_left() / 2), kHugePage);
    const auto reserve = [&] {
      return mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                  0);
    };
    void* range = reserve();
    // Where addresses are limited (ulimit -v), there are fewer.
    for (; range == MAP_FAILED && bytes > kHugePage; range = reserve()) bytes = rounded(bytes / 2, kHugePage);
    if (range == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(range);
    base_ += rounded(reinterpret_cast<uintptr_t>(range), kHugePage) - reinterpret_cast<uintptr_t>(range);
    madvise(base_, bytes, MADV_HUGEPAGE);
    free_.emplace(0, bytes);
  }

  // Behind a block there is forbidden ground if anybody looks.
  static size_t with_gap(size_t bytes) {
#ifdef __SANITIZE_ADDRESS__
    return bytes + kAlignment;
#else
    return bytes;
#endif
  }

  std::mutex mutex_;
  char* base_ = nullptr;
  std::map<size_t, size_t> free_;  // from offset to bytes
  size_t in_use_ = 0;
};

bool meet(const Resident& a, const Resident& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

Block::Block(size_t floats) : bytes_(std::max(rounded(floats * sizeof(float), kAlignment), kAlignment)) {
  data_ = Pool::instance().take(bytes_);
}

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
