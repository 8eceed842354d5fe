#include "nascent/core/shape.h"

#include <fmt/format.h>

namespace nascent {

std::string Shape::text() const {
  const auto side = [](int n) { return n > 0 ? std::to_string(n) : std::string("?"); };
  return fmt::format("{}x{}x{}", channels, side(height), side(width));
}

}  // namespace nascent
