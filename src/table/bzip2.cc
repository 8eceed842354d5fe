#include "nascent/table/bzip2.h"

#include <bzlib.h>

#include <memory>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {

std::string read_bzip2(const std::filesystem::path& path) {
  std::string compressed = read_file(path);
  bz_stream stream{};
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) fail("bzip2 could not be started: out of memory?");
  const std::unique_ptr<bz_stream, int (*)(bz_stream*)> guard(&stream, BZ2_bzDecompressEnd);
  stream.next_in = compressed.data();
  stream.avail_in = static_cast<unsigned>(compressed.size());
  std::string bytes, chunk(1 << 20, '\0');
  const uint64_t most = most_inflated(compressed.size());
  int status = BZ_OK;
  while (status == BZ_OK) {
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<unsigned>(chunk.size());
    status = BZ2_bzDecompress(&stream);
    const size_t produced = chunk.size() - stream.avail_out;
    bytes.append(chunk, 0, produced);
    if (bytes.size() > most) {
      fail("{} inflates to more than {} times its size, as no table does. Fetch it again.", path.string(),
           most / compressed.size());
    }
    // It asks for more although all was given.
    if (status == BZ_OK && produced == 0 && stream.avail_in == 0)
      fail("{} is truncated. Fetch it again.", path.string());
  }
  if (status == BZ_DATA_ERROR_MAGIC) fail("{} is not a bzip2 file.", path.string());
  if (status != BZ_STREAM_END) fail("{} is a damaged bzip2 file. Fetch it again.", path.string());
  return bytes;
}

}  // namespace nascent
