// Checkpoints of one run: `checkpoint-STEP.nascent` files in a folder, of which the newest two are kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "nascent/train/state.h"

namespace nascent {

class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Writes the state after `step` steps. Checkpoints of later steps go: they belong to a run that was taken up again
  // before them.
  void write(int64_t step, const State& state);
  // The newest one that is whole; a damaged one is reported and passed over.
  std::optional<State> newest() const;
  // Its path; "" where there is none.
  std::filesystem::path newest_path() const;

  const std::filesystem::path& folder() const { return folder_; }
  bool empty() const { return files().empty(); }

 private:
  std::map<int64_t, std::filesystem::path> files() const;  // by step
  void remove_partial_files() const;

  std::filesystem::path folder_;
};

}  // namespace nascent
