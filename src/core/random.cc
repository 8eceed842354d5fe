#include "nascent/core/random.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace nascent {
namespace {

// SplitMix64's finaliser: every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint64_t hash(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view purpose, std::initializer_list<uint64_t> counters) {
  const uint64_t key = mix(seed ^ mix(hash(purpose)));
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  uint64_t position = mix(counters.size());
  for (const uint64_t counter : counters) position = mix(position ^ counter) + counter;
  // The upper half of the counter names the stream, the lower half counts blocks within it.
  counter_ = {0, 0, static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32)};
}

RandomStream::result_type RandomStream::operator()() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

double RandomStream::uniform() {
  const uint64_t high = (*this)() >> 5, low = (*this)() >> 6;
  return static_cast<double>(high * 67108864 + low) / 9007199254740992.0;
}

double RandomStream::uniform(double low, double high) { return low + (high - low) * uniform(); }

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

int64_t RandomStream::below(int64_t n) {
  const uint64_t range = static_cast<uint64_t>(n);
  const uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  while (true) {
    const uint64_t high = (*this)(), low = (*this)();
    const uint64_t value = high << 32 | low;
    if (value < limit) return static_cast<int64_t>(value % range);
  }
}

std::vector<int64_t> RandomStream::permutation(int64_t n) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[below(i + 1)]);
  return order;
}

}  // namespace nascent
