#include "nascent/core/framed_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian, as numbers lie in memory");

constexpr size_t kAlignment = 64;

// What opens every file, written as it stands in memory.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t index_bytes;
  uint64_t data_bytes;
};
static_assert(sizeof(Header) == 32);

size_t data_start(const Header& header) { return aligned_in_file(sizeof(Header) + header.index_bytes); }
size_t total_bytes(const Header& header) { return data_start(header) + header.data_bytes + sizeof(uint32_t); }

Header read_header(const FileFormat& format, std::string_view bytes, const std::string& origin) {
  if (!bytes.starts_with(format.magic)) fail("{} {}", origin, format.stranger);
  if (bytes.size() < sizeof(Header)) {
    fail("{} is damaged: it is cut short, at {} bytes; its header alone has {}. {}", origin, bytes.size(),
         sizeof(Header), format.remedy);
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.version != format.version) {
    fail("{} has format version {}; this version of Nascent reads version {}. Read it with the version that wrote it.",
         origin, header.version, format.version);
  }
  return header;
}

void check_whole(const FileFormat& format, std::string_view bytes, const Header& header, const std::string& origin) {
  const bool possible = header.index_bytes <= bytes.size() && header.data_bytes <= bytes.size();
  if (!possible || bytes.size() != total_bytes(header)) {
    fail("{} is damaged: it has {} bytes, its header announces {}. {}", origin, bytes.size(), total_bytes(header),
         format.remedy);
  }
  uint32_t expected = 0;
  std::memcpy(&expected, bytes.data() + bytes.size() - sizeof(expected), sizeof(expected));
  const uint32_t found = crc32(bytes.substr(0, bytes.size() - sizeof(expected)));
  if (found != expected) {
    fail("{} is damaged: its checksum is {:08x}, expected {:08x}. {}", origin, found, expected, format.remedy);
  }
}

}  // namespace

size_t aligned_in_file(size_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

FramedFileWriter::FramedFileWriter(const FileFormat& format, std::string_view index, size_t data_bytes) {
  Header header{{}, format.version, 0, index.size(), data_bytes};
  std::memcpy(header.magic, format.magic.data(), sizeof(header.magic));
  bytes_.reserve(total_bytes(header));
  bytes_.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(index);
  bytes_.resize(data_start(header), '\0');
}

void FramedFileWriter::add(const void* bytes, size_t count) {
  bytes_.append(static_cast<const char*>(bytes), count);
  bytes_.resize(aligned_in_file(bytes_.size()), '\0');
}

std::string FramedFileWriter::finish() && {
  const uint32_t sum = crc32(bytes_);
  bytes_.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  return std::move(bytes_);
}

std::string digest_of_framed_file(std::string_view bytes) {
  return fmt::format("{:08x}", crc32(bytes.substr(0, bytes.size() - std::min(bytes.size(), sizeof(uint32_t)))));
}

FramedFile read_framed_file(const FileFormat& format, std::string_view bytes, const std::string& origin) {
  const Header header = read_header(format, bytes, origin);
  check_whole(format, bytes, header, origin);
  return {bytes.substr(sizeof(Header), header.index_bytes), bytes.substr(data_start(header), header.data_bytes)};
}

}  // namespace nascent
