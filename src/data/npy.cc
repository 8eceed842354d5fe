#include "nascent/data/npy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

template <class T>
double value_at(const std::string& bytes, int64_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return static_cast<double>(value);
}

struct NpyType {
  const char* name;
  int64_t bytes;
  double (*number)(const std::string&, int64_t);
};

constexpr NpyType kTypes[] = {
    {"b1", 1, value_at<uint8_t>},  {"u1", 1, value_at<uint8_t>},  {"i1", 1, value_at<int8_t>},
    {"u2", 2, value_at<uint16_t>}, {"i2", 2, value_at<int16_t>},  {"u4", 4, value_at<uint32_t>},
    {"i4", 4, value_at<int32_t>},  {"u8", 8, value_at<uint64_t>}, {"i8", 8, value_at<int64_t>},
    {"f4", 4, value_at<float>},    {"f8", 8, value_at<double>}};

const NpyType* find_type(const std::string& name) {
  const auto it = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NpyType& t) { return name == t.name; });
  return it == std::end(kTypes) ? nullptr : it;
}

// The text behind `key` in "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
std::string_view after(std::string_view header, std::string_view key, const std::string& name) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) fail("{} is a damaged .npy file: its header lacks {}.", name, key);
  header.remove_prefix(header.find(':', at) + 1);
  return trim(header);
}

std::vector<int64_t> parse_shape(std::string_view text, const std::string& name) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) {
    fail("{} is a damaged .npy file: its shape is not in brackets.", name);
  }
  std::vector<int64_t> shape;
  for (const auto& part : split(text.substr(1, end - 1), ',')) {
    const std::string digits(trim(part));
    if (digits.empty()) continue;
    if (digits.size() > 12 || digits.find_first_not_of("0123456789") != std::string::npos) {
      fail("{} is a damaged .npy file: '{}' is no length of an array.", name, digits);
    }
    shape.push_back(std::stoll(digits));
  }
  return shape;
}

std::string parse_type(std::string_view text, const std::string& name) {
  const size_t end = text.size() > 1 ? text.find(text[0], 1) : std::string_view::npos;
  const std::string full = end == std::string_view::npos ? "" : std::string(text.substr(1, end - 1));
  const std::string type = full.empty() ? "" : full.substr(1);
  if (full.starts_with('>') || find_type(type) == nullptr) {
    fail("{} holds numbers of type '{}'; expected bytes, whole or real numbers, little-endian: array.astype('u1').",
         name, full);
  }
  return type;
}

}  // namespace

int64_t NpyArray::count() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()); }

double NpyArray::number(int64_t index) const { return find_type(type)->number(bytes, index); }

NpyArray read_npy(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::string bytes = read_file(path);
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    fail("{} is not a .npy file. Save the array with numpy.save.", name);
  }
  const bool long_header = bytes[6] >= 2;
  const size_t start = long_header ? 12 : 10;
  size_t length = static_cast<uint8_t>(bytes[8]) | static_cast<uint8_t>(bytes[9]) << 8;
  if (long_header) length |= static_cast<size_t>(static_cast<uint8_t>(bytes[10])) << 16;
  if (start + length > bytes.size()) fail("{} is a truncated .npy file.", name);
  const std::string header = bytes.substr(start, length);
  NpyArray array;
  array.type = parse_type(after(header, "'descr'", name), name);
  array.shape = parse_shape(after(header, "'shape'", name), name);
  if (!after(header, "'fortran_order'", name).starts_with("False")) {
    fail("{} is stored in Fortran's order. Save it with numpy.save(file, numpy.ascontiguousarray(array)).", name);
  }
  const int64_t size = find_type(array.type)->bytes;
  const double expected =
      std::accumulate(array.shape.begin(), array.shape.end(), static_cast<double>(size),
                      [](double product, int64_t side) { return product * static_cast<double>(side); });
  if (static_cast<double>(bytes.size() - start - length) != expected) {
    fail("{} is a truncated or damaged .npy file: its header promises {} bytes of data, it has {}.", name, expected,
         bytes.size() - start - length);
  }
  array.bytes = bytes.substr(start + length);
  return array;
}

}  // namespace nascent
