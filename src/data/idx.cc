#include "nascent/data/idx.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

constexpr uint8_t unsigned_byte = 0x08;

int64_t big_endian(const std::string& bytes, size_t offset) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

void check_header(const std::string& bytes, int dimensions, const std::string& name) {
  const size_t header = 4 + 4 * static_cast<size_t>(dimensions);
  if (bytes.size() < header) {
    fail("{} is truncated: it has {} bytes; the header alone takes {}. Fetch it again.", name, bytes.size(), header);
  }
  const int64_t magic = big_endian(bytes, 0), expected = unsigned_byte << 8 | dimensions;
  if (magic != expected) {
    fail("{} is not an IDX file of bytes in {} dimensions: it starts with 0x{:08x}; expected 0x{:08x}.", name,
         dimensions, magic, expected);
  }
}

int64_t announced_bytes(const std::string& bytes, int dimensions) {
  int64_t count = 1;
  for (int i = 0; i < dimensions; ++i) {
    // Capped, so that the sizes of a damaged header cannot overflow: a count beyond the file is refused in any case.
    count = std::min(count * std::min(big_endian(bytes, 4 + 4 * i), int64_t{1} << 20), int64_t{1} << 40);
  }
  return count;
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, int dimensions) {
  const std::string name = path.string();
  const auto announced = [&](std::string_view start) -> uint64_t {
    const std::string header(start.substr(0, 4 + 4 * dimensions));
    check_header(header, dimensions, name);
    return header.size() + announced_bytes(header, dimensions);
  };
  return parse_idx(read_maybe_gzip(path, announced), dimensions, name);
}

IdxArray parse_idx(const std::string& bytes, int dimensions, const std::string& name) {
  check_header(bytes, dimensions, name);
  IdxArray array;
  const int64_t header = 4 + 4 * dimensions, body = static_cast<int64_t>(bytes.size()) - header;
  const int64_t count = announced_bytes(bytes, dimensions);
  for (int i = 0; i < dimensions; ++i) array.sizes.push_back(big_endian(bytes, 4 + 4 * i));
  if (body != count) {
    fail("{} is {}: its header promises {} bytes of data ({}), it has {}. Fetch it again.", name,
         body < count ? "truncated" : "damaged", count, fmt::join(array.sizes, " x "), body);
  }
  array.values.assign(bytes.begin() + header, bytes.end());
  return array;
}

}  // namespace nascent
