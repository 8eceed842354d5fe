#include "nascent/core/files.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

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

uint64_t most_inflated(uint64_t compressed) {
  constexpr uint64_t kAlways = uint64_t{64} << 20, kRatio = 100;  // tables and pickles shrink to a tenth, seldom more
  return std::max(kAlways, kRatio * compressed);
}

std::string read_maybe_gzip(const fs::path& path, const AnnouncedSize& announced) {
  if (!fs::is_regular_file(path)) read_file(path);  // reports it in our own words
  gzFile in = gzopen(path.c_str(), "rb");
  if (in == nullptr) fail("Cannot read {}: {}.", path.string(), std::strerror(errno));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> guard(in, gzclose);
  std::string bytes;
  std::string chunk(1 << 20, '\0');
  uint64_t most = most_inflated(fs::file_size(path));
  int n = 0;
  while ((n = gzread(in, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    if (bytes.empty() && announced) most = announced({chunk.data(), static_cast<size_t>(n)});
    bytes.append(chunk, 0, n);
    if (bytes.size() > most && gzdirect(in) == 0) {
      fail("{} is damaged: it should hold {} bytes{}, and inflates to more. Fetch it again.", path.string(), most,
           announced ? "" : " at most");
    }
  }
  int code = Z_OK;
  const std::string message = gzerror(in, &code);
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

void make_folders(const fs::path& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  // "runs/" names a folder that is there, and yet was not made.
  if (!problem || fs::is_directory(path)) return;
  fail("Cannot create the folder {}: {}. Choose another place, or make it writable.", path.string(), problem.message());
}

namespace {

// Where the file really is: at the end of the links, also where nothing is there yet.
fs::path followed(fs::path path) {
  for (int links = 0; fs::is_symlink(path); ++links) {
    if (links == 40) fail("Cannot write {}: its links lead in a circle.", path.string());
    const fs::path target = fs::read_symlink(path);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// Devices and pipes have no contents to keep whole; they are written to where they are.
bool is_plain_or_missing(const fs::path& path) {
  std::error_code problem;
  const fs::file_status status = fs::status(path, problem);
  return !fs::exists(status) || fs::is_regular_file(status);
}

[[noreturn]] void fail_to_write(const fs::path& path, int problem) {
  fail("Cannot write {}: {}.", path.string(), std::strerror(problem));
}

}  // namespace

FileWriter::FileWriter(const fs::path& path) : path_(followed(path)) {
  const bool plain = is_plain_or_missing(path_);
  if (fs::is_directory(path_)) fail("Cannot write {}: it is a folder; a file was expected.", path_.string());
  if (plain && path_.has_parent_path()) make_folders(path_.parent_path());
  if (plain) beside_ = path_.string() + ".partial." + std::to_string(::getpid());
  descriptor_ = plain ? ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                      : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_to_write(path_, errno);
}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void FileWriter::flush() {
  if (!write_all(descriptor_, waiting_)) fail_to_write(path_, errno);
  waiting_.clear();
}

void FileWriter::add(std::string_view bytes) {
  constexpr size_t kMost = size_t{1} << 20;
  if (waiting_.size() + bytes.size() > kMost) flush();
  if (bytes.size() <= kMost) {
    waiting_ += bytes;
  } else if (!write_all(descriptor_, bytes)) {
    fail_to_write(path_, errno);
  }
}

void FileWriter::finish() {
  flush();
  if (!beside_.empty() && ::fsync(descriptor_) != 0) fail_to_write(path_, errno);
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (closed && (beside_.empty() || ::rename(beside_.c_str(), path_.c_str()) == 0)) return;
  const int reason = errno;
  if (!beside_.empty()) ::unlink(beside_.c_str());
  fail_to_write(path_, reason);
}

void write_file(const fs::path& path, std::string_view bytes) {
  FileWriter file(path);
  file.add(bytes);
  file.finish();
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
