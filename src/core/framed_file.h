// The frame that binary files share: a header, an index in JSON, data aligned to 64 bytes, a checksum of all that. See
// docs/formats.md.
//
//   FramedFileWriter file(kTableFormat, index.dump(), data_bytes);
//   file.add(array.data(), array_bytes);
//   write_file(path, std::move(file).finish());
//
//   const FramedFile file = read_framed_file(kTableFormat, bytes, path);   // an Error where anything is wrong
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nascent {

struct FileFormat {
  std::string_view magic;  // eight bytes
  uint32_t version = 1;
  std::string_view stranger;  // what is said of a file with another magic, behind its name
  std::string_view remedy;    // what to do about a damaged one
};

// Offsets of what lies in the data are multiples of this.
size_t aligned_in_file(size_t offset);

class FramedFileWriter {
 public:
  // `data_bytes`: of all that will be added, each rounded up by aligned_in_file().
  FramedFileWriter(const FileFormat& format, std::string_view index, size_t data_bytes);

  void add(const void* bytes, size_t count);
  std::string finish() &&;

 private:
  std::string bytes_;
};

struct FramedFile {
  std::string_view index, data;  // parts of the bytes that were read
};

// An Error names `origin` and what is wrong: magic, version, length or checksum.
FramedFile read_framed_file(const FileFormat& format, std::string_view bytes, const std::string& origin);

// What tells one framed file from another: the checksum that it ends with. The checksum of all its bytes would not:
// that is one and the same number for whatever ends with its own.
std::string digest_of_framed_file(std::string_view bytes);

}  // namespace nascent
