#include "cli/summary.h"

#include <fmt/format.h>

namespace nascent {

std::string engineering(int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", value / 1e6);
  if (count >= 10'000) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{}", count);
}

}  // namespace nascent
