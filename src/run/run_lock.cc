#include "nascent/run/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

// is_held() takes the lock for an instant; trying a few times keeps that from looking like a running process.
bool take(int descriptor) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void write_holder(int descriptor) {
  const std::string holder = fmt::format("{}\n", ::getpid());
  // The number only serves an error text, so failing to write it is no reason to stop.
  if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, holder.data(), holder.size(), 0) < 0) return;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& path) {
  // Closed on exec, or else a program started by us (dot, gnuplot) would hold the lock as well.
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("Cannot write {}: {}.", path.string(), std::strerror(errno));
  if (!take(descriptor_)) {
    ::close(descriptor_);
    fail("The run {} is in use by process {}. Wait until that ends, or choose another directory.",
         path.parent_path().string(), trim(read_file(path)));
  }
  write_holder(descriptor_);
}

RunLock::~RunLock() { ::close(descriptor_); }

bool RunLock::is_held(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

}  // namespace nascent
