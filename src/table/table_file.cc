#include "nascent/table/table_file.h"

#include <cstring>

#include "nascent/core/error.h"
#include "nascent/core/framed_file.h"

namespace nascent {

namespace {

constexpr FileFormat kNumbered = {.magic = "NASTABL\n",
                                  .version = 1,
                                  .stranger =
                                      "is not a benchmark table. Tables are made by 'nascent table import SOURCE --out "
                                      "FILE' from a CSV or JSON file or a folder of NATS-Bench records.",
                                  .remedy = "Import it again with 'nascent table import'."};

// Version 1 knows no tables without numbers, and must not take them for complete ones.
constexpr FileFormat hashed() {
  FileFormat format = kNumbered;
  format.version = 2;
  return format;
}
constexpr FileFormat kHashed = hashed();

// By the version in the header.
const FileFormat& format_of(std::string_view bytes) {
  uint32_t version = 0;
  const size_t place = kNumbered.magic.size();
  if (bytes.size() >= place + sizeof(version)) std::memcpy(&version, bytes.data() + place, sizeof(version));
  return version <= kNumbered.version ? kNumbered : kHashed;
}

}  // namespace

uint64_t TableFileWriter::add(const void* bytes, size_t count) {
  const size_t offset = data_.size();
  data_.append(static_cast<const char*>(bytes), count);
  data_.resize(aligned_in_file(data_.size()));
  return offset;
}

std::string TableFileWriter::finish(const Json& index) const {
  FramedFileWriter file(index.contains("hashes") ? kHashed : kNumbered, index.dump(), data_.size());
  file.add(data_.data(), data_.size());
  return std::move(file).finish();
}

TableFileParts read_table_file(std::string_view bytes, const std::string& origin) {
  const FramedFile file = read_framed_file(format_of(bytes), bytes, origin);
  return {Json::parse(file.index), file.data};
}

}  // namespace nascent
