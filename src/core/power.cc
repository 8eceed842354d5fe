#include "nascent/core/power.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/core/resampling.h"

namespace nascent {
namespace {

using Numbers = std::vector<float>;  // exact enough for numbers drawn at random, and half as long on the way

// Ways in which a test rearranges the numbers of an experiment. The first leaves them where they are.
class Rearrangements {
 public:
  Rearrangements(size_t numbers, size_t ways)
      : weights_(numbers, Numbers(ways)), same_(ways), turned_(ways), room_(ways) {}

  size_t ways() const { return room_.size(); }
  // What a number counts for in the difference that the test looks at.
  float& weight(size_t number, size_t way) { return weights_[number][way]; }
  // What this way makes of a true difference of 1.
  void set_slope(size_t way, double slope) {
    same_[way] = slope == 1 ? INFINITY : 1 / (1 - slope);
    turned_[way] = slope == -1 ? INFINITY : 1 / (1 + slope);
  }

  // The smallest true difference that is significant in spite of this noise: then no more than `most` ways have a
  // difference that is as far from zero as the first one's.
  float critical(const Numbers& noise, size_t most) {
    std::fill(room_.begin(), room_.end(), 0.0F);
    for (size_t i = 0; i < noise.size(); ++i) {
      for (size_t way = 0; way < ways(); ++way) room_[way] += weights_[i][way] * noise[i];
    }
    const float first = room_[0];
    for (size_t way = 0; way < ways(); ++way) room_[way] = as_far_until(way, room_[way], first);
    const auto place = room_.begin() + static_cast<std::ptrdiff_t>(most);
    std::partial_sort(room_.begin(), place + 1, room_.end(), std::greater<>());
    return *place;
  }

 private:
  // Up to which true difference d |difference + slope d| is at least first + d: always, where the way is the first one
  // or its mirror image.
  float as_far_until(size_t way, float difference, float first) const {
    if (std::isinf(same_[way]) || std::isinf(turned_[way])) return INFINITY;
    return std::max((difference - first) * same_[way], (-difference - first) * turned_[way]);
  }

  std::vector<Numbers> weights_;  // by number
  Numbers same_, turned_;         // 1 / (1 - slope) and 1 / (1 + slope)
  Numbers room_;
};

// All ways are gone through where there are no more than this.
constexpr double kAll = 4096;

// So many are drawn otherwise: enough for some to be as far at this level.
size_t ways_drawn(double level) { return static_cast<size_t>(std::max(2000.0, 10 / level)); }

// Of a way and its mirror image, all signs turned, one is enough: the last sign stays.
Rearrangements sign_flips(size_t pairs, double level, uint64_t seed) {
  const double all = std::pow(2, static_cast<double>(pairs) - 1);
  Rearrangements flips(pairs, all <= kAll ? static_cast<size_t>(all) : ways_drawn(level));
  RandomStream random(seed, "flips");
  const auto n = static_cast<double>(pairs);
  for (size_t way = 0; way < flips.ways(); ++way) {
    int sum = 0;
    for (size_t i = 0; i < pairs; ++i) {
      const bool flipped = all <= kAll ? (way >> i & 1) != 0 : way > 0 && random.below(2) != 0;
      flips.weight(i, way) = (flipped ? -1 : 1) / n;
      sum += flipped ? -1 : 1;
    }
    flips.set_slope(way, sum / n);
  }
  return flips;
}

// The numbers of list a, then those of b, which the true difference raises.
Rearrangements deals(size_t a, size_t b, double level, uint64_t seed) {
  const double all = ways_to_choose(a, a + b), n = static_cast<double>(a), m = static_cast<double>(b);
  Rearrangements deals(a + b, all <= kAll ? static_cast<size_t>(all) : ways_drawn(level));
  RandomStream random(seed, "deals");
  std::vector<char> to_b(a + b, 0);
  std::fill(to_b.begin() + static_cast<std::ptrdiff_t>(a), to_b.end(), 1);
  for (size_t way = 0; way < deals.ways(); ++way) {
    double stay = 0;
    for (size_t i = 0; i < a + b; ++i) {
      deals.weight(i, way) = to_b[i] ? 1 / m : -1 / n;
      if (i >= a) stay += to_b[i];
    }
    deals.set_slope(way, stay / m - (m - stay) / n);
    if (all <= kAll) std::prev_permutation(to_b.begin(), to_b.end());
    for (size_t i = 0; all > kAll && i < a + b; ++i) {
      std::swap(to_b[i], to_b[i + static_cast<size_t>(random.below(static_cast<int64_t>(a + b - i)))]);
    }
  }
  return deals;
}

// Number i of an experiment is normal with deviations[i].
double detectable(Rearrangements ways, const Numbers& deviations, double level, const PowerSimulation& how) {
  const auto most = static_cast<size_t>(level * static_cast<double>(ways.ways()) + 1e-9);
  Numbers noise(deviations.size()), criticals;
  for (int i = 0; i < how.experiments; ++i) {
    RandomStream random(how.seed, "experiment", {static_cast<uint64_t>(i)});
    for (size_t k = 0; k < noise.size(); ++k) noise[k] = deviations[k] * random.normal();
    criticals.push_back(ways.critical(noise, most));
  }
  std::sort(criticals.begin(), criticals.end());
  return criticals[static_cast<size_t>(std::ceil(how.power * how.experiments)) - 1];
}

}  // namespace

double detectable_by_signs(size_t pairs, double deviation, double level, const PowerSimulation& how) {
  return detectable(sign_flips(pairs, level, how.seed), Numbers(pairs, deviation), level, how);
}

double detectable_by_deals(const NormalList& a, const NormalList& b, double level, const PowerSimulation& how) {
  Numbers deviations(a.count, a.deviation);
  deviations.insert(deviations.end(), b.count, b.deviation);
  return detectable(deals(a.count, b.count, level, how.seed), deviations, level, how);
}

}  // namespace nascent
