#include "nascent/core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nascent/core/error.h"

namespace nascent {

MappedFile::MappedFile(const std::filesystem::path& path) : MappedFile(OpenFile::at(path, O_RDONLY), path) {}

MappedFile::MappedFile(const OpenFile& file, const std::filesystem::path& path) {
  if (!file) fail("Cannot read {}: {}.", path.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    fail("{} is not a file; a file was expected.", path.string());
  }
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start_ == MAP_FAILED) {
    start_ = nullptr;
    fail("Cannot map {} into memory: {}.", path.string(), std::strerror(errno));
  }
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) ::munmap(start_, size_);
}

void MappedFile::forget_before(uint64_t byte) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (start_ != nullptr) ::madvise(start_, std::min<uint64_t>(byte, size_) / page * page, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

}  // namespace nascent
