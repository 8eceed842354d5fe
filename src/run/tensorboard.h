// A run's events as TensorBoard reads them: every number as a scalar, the cell as a picture whenever it changed.
//
// The format is two things in one: records (length, checksum, bytes, checksum; CRC-32C) whose bytes are protocol
// buffers of the message Event. Both are written here, so that no library of TensorFlow's is needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "nascent/run/run_directory.h"

namespace nascent {

struct TensorBoardFile {
  std::filesystem::path path{};
  size_t scalars = 0, pictures = 0;
};

// Writes DIR/events.out.tfevents.TIME.nascent, TIME being the run's start: written again, it is replaced. Where
// graphviz is missing there are no pictures, and a warning.
TensorBoardFile write_tensorboard(const RunDirectory& run, const std::filesystem::path& folder);

// CRC-32C (Castagnoli), of which the files hold a masked form.
uint32_t crc32c(std::string_view bytes);

}  // namespace nascent
