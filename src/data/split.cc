#include "nascent/data/split.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

int64_t parse_index(std::string_view text, int64_t size, const std::string& place) {
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{}: '{}' is not an index; expected a whole number.", place, text);
  if (index < 0 || index >= size) fail("{}: index {} is out of range; expected 0 to {}.", place, index, size - 1);
  return index;
}

// For every image of the data set, whether the file lists it. Blank lines and those that start with '#' are passed
// over.
std::vector<bool> read_split_file(const std::string& path, int64_t size) {
  std::vector<int64_t> line_of(size, 0);
  std::vector<bool> listed(size, false);
  int64_t number = 0;
  for (const auto& line : split(read_file(path), '\n')) {
    ++number;
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#') continue;
    const std::string place = fmt::format("{}:{}", path, number);
    const int64_t index = parse_index(text, size, place);
    if (listed[index])
      fail("{}: index {} is listed already on line {}; expected each once.", place, index, line_of[index]);
    listed[index] = true;
    line_of[index] = number;
  }
  return listed;
}

Split split_by_file(const std::string& path, const std::vector<int64_t>& indices, int64_t size) {
  const std::vector<bool> listed = read_split_file(path, size);
  Split split;
  for (const int64_t index : indices) (listed[index] ? split.train : split.valid).push_back(index);
  if (split.train.empty())
    fail("{} lists none of the {} images in use; no image is left to train on.", path, indices.size());
  return split;
}

Split split_by_fraction(double fraction, const std::vector<int64_t>& indices, uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1)) fail("data.valid-fraction is {}; expected 0 to below 1.", fraction);
  const auto size = static_cast<int64_t>(indices.size());
  const auto valid = static_cast<int64_t>(std::floor(fraction * static_cast<double>(size) + 1e-9));
  if (fraction > 0 && valid == 0) {
    fail("data.valid-fraction {} of {} images leaves none to validate on; raise it or data.limit, or set it to 0.",
         fraction, size);
  }
  const auto order = RandomStream(seed, "split").permutation(size);
  Split split;
  for (int64_t i = 0; i < size; ++i) (i < size - valid ? split.train : split.valid).push_back(indices[order[i]]);
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.valid.begin(), split.valid.end());
  return split;
}

}  // namespace

std::vector<int64_t> limited_indices(int64_t size, int64_t limit, uint64_t seed) {
  std::vector<int64_t> indices(size);
  std::iota(indices.begin(), indices.end(), 0);
  if (limit <= 0 || limit >= size) return indices;
  indices = RandomStream(seed, "limit").permutation(size);
  indices.resize(limit);
  std::sort(indices.begin(), indices.end());
  return indices;
}

Split split_indices(const DataOptions& options, int64_t size, uint64_t seed) {
  const auto indices = limited_indices(size, options.limit, seed);
  if (!options.split_file.empty()) return split_by_file(options.split_file, indices, size);
  return split_by_fraction(options.valid_fraction, indices, seed);
}

}  // namespace nascent
