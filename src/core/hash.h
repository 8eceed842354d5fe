// 128-bit hashes of bytes: short names for long things, the same on every machine and in every version (FNV-1a).
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace nascent {

struct Hash128 {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Hash128&) const = default;
};

Hash128 hash128(std::string_view bytes);

}  // namespace nascent
