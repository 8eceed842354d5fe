// Arrays as NumPy saves them (.npy): a header with type, order and shape, then the numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nascent {

struct NpyArray {
  std::string type;  // as NumPy writes it, without the byte order: "u1", "f4", "i8", "b1"
  std::vector<int64_t> shape;
  std::string bytes;  // of all numbers, in C order, little-endian

  int64_t count() const;
  double number(int64_t index) const;
};

// An Error names the file that is damaged, truncated, or of a kind that is not read: big-endian, in Fortran's order, of
// other types than whole numbers, real numbers and yes/no.
NpyArray read_npy(const std::filesystem::path& path);

}  // namespace nascent
