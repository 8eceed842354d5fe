// Counter-based random streams (Philox 4x32-10): the numbers depend only on (seed, purpose, counters), so there is no
// generator state to save and neither thread count nor order of use changes a result.
//
//   RandomStream random(seed, "flip", {epoch, image_index});
//   if (random.uniform() < 0.5) mirror(image);
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace nascent {

class RandomStream {
 public:
  using result_type = uint32_t;

  RandomStream(uint64_t seed, std::string_view purpose, std::initializer_list<uint64_t> counters = {});

  // 32 random bits; with min() and max(), a standard UniformRandomBitGenerator.
  result_type operator()();
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return UINT32_MAX; }

  double uniform();                         // in [0, 1)
  double uniform(double low, double high);  // in [low, high)
  double normal();                          // mean 0, deviation 1
  int64_t below(int64_t n);                 // in [0, n), unbiased
  std::vector<int64_t> permutation(int64_t n);

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  // numbers of block_ already given out
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

// One Philox 4x32-10 block: the mapping that the streams are made of, public so that it can be tested against known
// answers.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace nascent
