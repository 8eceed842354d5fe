#include "nascent/core/checked_lines.h"

#include <fmt/format.h>

#include <charconv>

#include "nascent/core/files.h"

namespace nascent {

namespace {
constexpr size_t kDigits = 8;
}

std::string checked_line(std::string_view body) { return fmt::format("{:08x}\t{}\n", crc32(body), body); }

bool CheckedLines::next() {
  const size_t feed = bytes_.find('\n', end_);
  if (feed == std::string_view::npos) return false;
  offset_ = end_;
  end_ = feed + 1;
  const std::string_view line = bytes_.substr(offset_, feed - offset_);
  good_ = line.size() > kDigits && line[kDigits] == '\t';
  body_ = good_ ? line.substr(kDigits + 1) : std::string_view();
  uint32_t sum = 0;
  const auto [stop, problem] = std::from_chars(line.data(), line.data() + (good_ ? kDigits : 0), sum, 16);
  good_ = good_ && problem == std::errc() && stop == line.data() + kDigits && sum == crc32(body_);
  return true;
}

}  // namespace nascent
