#include "nascent/core/open_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace nascent {

namespace {

// False where another holds the lock and it is not waited for.
bool take(int descriptor, int how) {
  while (::flock(descriptor, how) != 0) {
    if (errno != EINTR) return errno != EWOULDBLOCK;
  }
  return true;
}

}  // namespace

OpenFile OpenFile::at(const std::filesystem::path& path, int flags) {
  return OpenFile(::open(path.c_str(), flags | O_CLOEXEC, 0644));
}

bool OpenFile::is_at(const std::filesystem::path& path) const {
  struct stat own {
  }, there{};
  return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

void OpenFile::lock() const { take(descriptor_, LOCK_EX); }
bool OpenFile::try_lock() const { return take(descriptor_, LOCK_EX | LOCK_NB); }
void OpenFile::lock_shared() const { take(descriptor_, LOCK_SH); }
bool OpenFile::try_lock_shared() const { return take(descriptor_, LOCK_SH | LOCK_NB); }
void OpenFile::unlock() const { ::flock(descriptor_, LOCK_UN); }

}  // namespace nascent
