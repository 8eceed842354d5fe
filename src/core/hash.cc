#include "nascent/core/hash.h"

namespace nascent {

// FNV-1a's prime of 128 bits is 2^88 + 0x13b.
Hash128 hash128(std::string_view bytes) {
  __extension__ typedef unsigned __int128 Wide;
  Wide state = (Wide{0x6c62272e07bb0142} << 64) | 0x62b821756295c58d;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    state = state * 0x13b + (state << 88);
  }
  return {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
}

}  // namespace nascent
