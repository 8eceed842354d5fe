#include "nascent/table/table_file.h"

#include "nascent/core/error.h"
#include "nascent/core/framed_file.h"

namespace nascent {

namespace {

constexpr FileFormat kFormat = {.magic = "NASTABL\n",
                                .version = 1,
                                .stranger =
                                    "is not a benchmark table. Tables are made by 'nascent table import SOURCE --out "
                                    "FILE' from a CSV or JSON file or a folder of NATS-Bench records.",
                                .remedy = "Import it again with 'nascent table import'."};

}  // namespace

uint64_t TableFileWriter::add(const void* bytes, size_t count) {
  const size_t offset = data_.size();
  data_.append(static_cast<const char*>(bytes), count);
  data_.resize(aligned_in_file(data_.size()));
  return offset;
}

std::string TableFileWriter::finish(const Json& index) const {
  FramedFileWriter file(kFormat, index.dump(), data_.size());
  file.add(data_.data(), data_.size());
  return std::move(file).finish();
}

TableFileParts read_table_file(std::string_view bytes, const std::string& origin) {
  const FramedFile file = read_framed_file(kFormat, bytes, origin);
  return {Json::parse(file.index), file.data};
}

}  // namespace nascent
