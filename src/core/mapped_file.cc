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

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("Cannot read {}: {}.", path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  const bool is_file = known && S_ISREG(status.st_mode);
  size_ = is_file ? static_cast<size_t>(status.st_size) : 0;
  if (size_ > 0) start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int problem = errno;
  ::close(descriptor);
  if (!is_file) fail("{} is not a file; a file was expected.", path.string());
  if (start_ == MAP_FAILED) {
    start_ = nullptr;
    fail("Cannot map {} into memory: {}.", path.string(), std::strerror(problem));
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
