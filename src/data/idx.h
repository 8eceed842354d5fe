// The IDX format of MNIST: big-endian header (0, 0, type, dimensions, sizes...), then bytes. Files may be gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nascent {

struct IdxArray {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

// Reads an array of bytes with `dimensions` dimensions; a truncated or foreign file is an Error that names it.
IdxArray read_idx(const std::filesystem::path& path, int dimensions);
// The same of bytes that were read already and are not gzipped.
IdxArray parse_idx(const std::string& bytes, int dimensions, const std::string& name);

}  // namespace nascent
