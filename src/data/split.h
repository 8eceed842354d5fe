// Which images train, which validate, and which are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "nascent/data/data_options.h"

namespace nascent {

struct Split {
  std::vector<int64_t> train, valid;  // ascending indices, nothing in common
};

// `limit` of `size` indices (all of them if limit is 0 or more), ascending, chosen by the seed.
std::vector<int64_t> limited_indices(int64_t size, int64_t limit, uint64_t seed);

// Limits the training images, then divides them by split file or fraction.
Split split_indices(const DataOptions& options, int64_t size, uint64_t seed);

}  // namespace nascent
