#include "nascent/table/table_file.h"

#include <bit>
#include <cstring>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {

namespace {

// Arrays are written and used as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "NASTABL\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeader = 32, kAlignment = 64;

size_t aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T number_at(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

uint64_t TableFileWriter::add(const void* bytes, size_t count) {
  const size_t offset = data_.size();
  data_.append(static_cast<const char*>(bytes), count);
  data_.resize(aligned(data_.size()));
  return offset;
}

std::string TableFileWriter::finish(const Json& index) const {
  const std::string text = index.dump();
  std::string bytes(kMagic);
  append(bytes, kVersion);
  append(bytes, uint32_t{0});
  append(bytes, uint64_t{text.size()});
  append(bytes, uint64_t{data_.size()});
  bytes += text;
  bytes.resize(aligned(bytes.size()));
  bytes += data_;
  append(bytes, crc32(bytes));
  return bytes;
}

TableFileParts read_table_file(std::string_view bytes, const std::string& origin) {
  if (!bytes.starts_with(kMagic)) {
    fail(
        "{} is not a benchmark table. Tables are made by 'nascent table import SOURCE --out FILE' from a CSV or JSON "
        "file or a folder of NATS-Bench records.",
        origin);
  }
  const auto damaged = [&](const std::string& how) {
    fail("{} is damaged: {}. Import it again with 'nascent table import'.", origin, how);
  };
  if (bytes.size() < kHeader) damaged(fmt::format("it is truncated after {} bytes", bytes.size()));
  const auto version = number_at<uint32_t>(bytes, 8);
  if (version != kVersion) {
    fail("{} is a table of format {}, but this program reads format {}. Import it again with 'nascent table import'.",
         origin, version, kVersion);
  }
  const auto index = number_at<uint64_t>(bytes, 16), data = number_at<uint64_t>(bytes, 24);
  const bool plausible = index <= bytes.size() && data <= bytes.size();
  const size_t data_start = plausible ? aligned(kHeader + index) : 0, end = data_start + data;
  if (!plausible || bytes.size() != end + sizeof(uint32_t)) {
    damaged(fmt::format("it has {} bytes, but its header speaks of {}", bytes.size(),
                        aligned(kHeader + index) + data + sizeof(uint32_t)));
  }
  if (crc32(bytes.substr(0, end)) != number_at<uint32_t>(bytes, end)) damaged("its checksum does not match");
  return {Json::parse(bytes.substr(kHeader, index)), bytes.substr(data_start, data)};
}

}  // namespace nascent
