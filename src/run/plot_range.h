// What an axis of a drawing shows, and where it has its tics.
#pragma once

#include <algorithm>
#include <cmath>

namespace nascent {

struct PlotRange {
  double low = INFINITY, high = -INFINITY;

  // Nearer to zero, numbers have fewer digits, in the end none.
  static constexpr double kLeast = 1e-300;
  // Beyond the limit a range's width would not be finite either.
  static bool drawable(double value) { return std::abs(value) <= 1e300; }
  void include(double value) { low = std::min(low, value), high = std::max(high, value); }
  double size() const { return high - low; }
  // Means of equal numbers differ in their last bits: tics so close would be one number.
  bool flat() const { return size() <= std::max(kLeast, 1e-9 * std::max(std::abs(low), std::abs(high))); }
  // Never empty, and with room for a line that lies on the border; a flat one by a share of the numbers themselves.
  PlotRange widened(double share, double share_of_flat) const {
    if (!flat()) return {low - share * size(), high + share * size()};
    const double room = share_of_flat * (std::abs(high) > kLeast ? std::abs(high) : 1);
    return {low - room, high + room};
  }
  // 1, 2 or 5 times a power of ten, for four to eight tics of a range that is not flat.
  double tic_distance() const {
    const double most = size() / 4, power = std::pow(10, std::floor(std::log10(most)));
    return power * (most >= 5 * power ? 5 : most >= 2 * power ? 2 : 1);
  }
};

}  // namespace nascent
