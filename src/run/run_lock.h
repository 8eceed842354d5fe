// One process at a time uses a run: an flock on a file in its directory, which the system drops when the process ends,
// however it ends.
#pragma once

#include <filesystem>

namespace nascent {

class RunLock {
 public:
  // An Error names the process that holds it.
  explicit RunLock(const std::filesystem::path& path);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // True while some process holds the lock.
  static bool is_held(const std::filesystem::path& path);

 private:
  int descriptor_ = -1;
};

}  // namespace nascent
