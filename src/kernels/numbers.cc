#include "nascent/kernels/numbers.h"

#include <cstring>

namespace nascent::kernels {

void copy_numbers(ConstNumbers from, size_t count, Numbers to) {
  if (from.precision() == to.precision()) {
    std::memcpy(to.data(), from.data(), count * bytes_of(to.precision()));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (to.precision() == Precision::single) {
      to.as<float>()[i] = widened(from.as<Bf16>()[i]);
    } else {
      to.as<Bf16>()[i] = rounded(from.as<float>()[i]);
    }
  }
}

void clear_numbers(Numbers at, size_t count) { std::memset(at.data(), 0, count * bytes_of(at.precision())); }

}  // namespace nascent::kernels
