// The frame of a table's file: a header, an index in JSON, arrays that can be used where they lie, a checksum. See
// docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nascent/core/options.h"

namespace nascent {

// Lays arrays out one after another, each at a multiple of 64 bytes.
class TableFileWriter {
 public:
  // Returns the array's offset in the data.
  uint64_t add(const void* bytes, size_t count);
  // Rows are known by their place in the space (format version 1) or by hashes (2), as the index says.
  std::string finish(const Json& index) const;

 private:
  std::string data_;
};

// The parts of a file's bytes. An Error names `origin` and what is wrong: magic, version, length or checksum.
struct TableFileParts {
  Json index;
  std::string_view data;
};
TableFileParts read_table_file(std::string_view bytes, const std::string& origin);

}  // namespace nascent
