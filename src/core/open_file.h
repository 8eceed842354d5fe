// A file that is open, closed once, and locked by those who use it together (flock).
//
//   OpenFile file = OpenFile::at("x.scores", O_RDWR | O_CREAT);
//   if (!file) fail(...);                    // errno says why
//   const std::shared_lock lock(file);       // or std::lock_guard, std::unique_lock
//
// A lock holds against all who have opened the file themselves, in this process too. The system drops it when the file
// is closed, however a process ends. Where a file system knows no locks, everyone is taken to be alone.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace nascent {

class OpenFile {
 public:
  // With the flags of open(2); not for programs that are started.
  static OpenFile at(const std::filesystem::path& path, int flags);

  explicit OpenFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  // Whether the path leads to this file, and not to another one that has taken its place, or to none.
  bool is_at(const std::filesystem::path& path) const;

  // What the locks of the standard library call.
  void lock() const;
  bool try_lock() const;
  void unlock() const;
  void lock_shared() const;
  bool try_lock_shared() const;
  void unlock_shared() const { unlock(); }

 private:
  int descriptor_;
};

}  // namespace nascent
