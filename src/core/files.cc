#include "nascent/core/files.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "nascent/core/error.h"

namespace nascent {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  if (fs::is_directory(path)) fail("{} is a folder; a file was expected.", path.string());
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("Cannot read {}: {}.", path.string(), std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) fail("Cannot read {}: {}.", path.string(), std::strerror(errno));
  return std::move(text).str();
}

std::string read_maybe_gzip(const fs::path& path) {
  if (!fs::is_regular_file(path)) read_file(path);  // reports it in our own words
  gzFile in = gzopen(path.c_str(), "rb");
  if (in == nullptr) fail("Cannot read {}.", path.string());
  std::string bytes;
  std::string chunk(1 << 20, '\0');
  int n = 0;
  while ((n = gzread(in, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) bytes.append(chunk, 0, n);
  int code = Z_OK;
  const std::string message = gzerror(in, &code);
  gzclose(in);
  if (n < 0 || code != Z_OK) fail("{} is a damaged gzip file ({}). Fetch it again.", path.string(), message);
  return bytes;
}

namespace {

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(n);
  }
  return true;
}

}  // namespace

void write_file(const fs::path& path, std::string_view bytes) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  const fs::path beside = path.string() + ".partial." + std::to_string(::getpid());
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("Cannot write {}: {}.", beside.string(), std::strerror(errno));
  const bool written = write_all(descriptor, bytes) && ::fsync(descriptor) == 0;
  const int problem = errno;
  ::close(descriptor);
  if (written && ::rename(beside.c_str(), path.c_str()) == 0) return;
  const std::string reason = std::strerror(written ? errno : problem);
  ::unlink(beside.c_str());
  fail("Cannot write {}: {}.", path.string(), reason);
}

uint32_t crc32(std::string_view bytes) {
  uLong sum = ::crc32_z(0, nullptr, 0);
  return static_cast<uint32_t>(::crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

fs::path cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "nascent";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "nascent";
  return fs::temp_directory_path() / "nascent";
}

}  // namespace nascent
