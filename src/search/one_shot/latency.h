// How long operations take on this machine: measured once per operation, shape and number of threads, and kept in the
// cache directory.
#pragma once

#include <filesystem>
#include <string>

#include "nascent/core/options.h"
#include "nascent/space/stage.h"

namespace nascent {

class LatencyTable {
 public:
  LatencyTable();
  explicit LatencyTable(std::filesystem::path file);
  // Writes what was measured.
  ~LatencyTable();

  // Of one image, forward, in evaluation mode: the median of several runs.
  double milliseconds(const Stages& stages, const Shape& input);

 private:
  std::filesystem::path file_;
  Json known_ = Json::object();
  bool changed_ = false;
};

}  // namespace nascent
