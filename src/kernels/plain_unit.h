// What the engine has no kernels for: a function of the caller that is given the whole batch at once.
#pragma once

#include <cstddef>
#include <functional>

#include "nascent/kernels/numbers.h"

namespace nascent::kernels {

// Images, channels last. Some channels of a wider array may be meant, so pixels lie `pixel` numbers apart.
struct Batch {
  Numbers data = nullptr;  // null: not wanted
  int images = 0, channels = 0, height = 0, width = 0;
  ptrdiff_t pixel = 0;
};

// Fills `to` from `from`, which it must leave as it is.
using PlainFunction = std::function<void(const Batch& from, const Batch& to)>;

}  // namespace nascent::kernels
