// Memory of the engine: blocks whose memory stays with the process for the next step, and the plan of what lies where
// in one.
#pragma once

#include <cstddef>
#include <vector>

namespace nascent::kernels {

// Aligned floats, not initialised. The memory of freed blocks is kept and handed out again, so a training step that
// repeats asks the system for nothing.
class Block {
 public:
  Block() = default;
  explicit Block(size_t floats);
  ~Block();
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;

  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  size_t bytes_ = 0;
};

// Bytes in blocks that are in use.
size_t block_bytes_in_use();

// Something that lies in memory from the first to the last phase in which it is used.
struct Resident {
  size_t floats = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // in floats, one per resident
  size_t floats = 0;
};

// Residents whose times overlap do not overlap in memory.
MemoryPlan plan_memory(const std::vector<Resident>& residents);

}  // namespace nascent::kernels
