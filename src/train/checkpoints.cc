#include "nascent/train/checkpoints.h"

#include <charconv>
#include <string_view>

#include "nascent/core/error.h"
#include "nascent/core/log.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr std::string_view kSuffix = ".nascent";
constexpr size_t kKept = 2;

std::optional<int64_t> step_of(const std::string& name) {
  const std::string_view text = name;
  if (!text.starts_with(kPrefix) || !text.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = text.substr(kPrefix.size(), text.size() - kPrefix.size() - kSuffix.size());
  int64_t step = 0;
  const auto [rest, code] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (code != std::errc() || rest != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return step;
}

}  // namespace

std::map<int64_t, fs::path> CheckpointStore::files() const {
  std::map<int64_t, fs::path> found;
  std::error_code missing_folder;
  for (const auto& entry : fs::directory_iterator(folder_, missing_folder)) {
    if (const auto step = step_of(entry.path().filename().string())) found[*step] = entry.path();
  }
  return found;
}

// What a process that was killed while writing left behind.
void CheckpointStore::remove_partial_files() const {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.find(".partial.") != std::string::npos) fs::remove(entry.path());
  }
}

void CheckpointStore::write(int64_t step, const State& state) {
  save_state(state, folder_ / fmt::format("{}{}{}", kPrefix, step, kSuffix));
  auto known = files();
  for (auto it = known.upper_bound(step); it != known.end(); it = known.erase(it)) fs::remove(it->second);
  for (; known.size() > kKept; known.erase(known.begin())) fs::remove(known.begin()->second);
  remove_partial_files();
}

std::optional<State> CheckpointStore::newest() const {
  const auto known = files();
  for (auto it = known.rbegin(); it != known.rend(); ++it) {
    try {
      return load_state(it->second);
    } catch (const Error& error) {
      log::warning("{} It is passed over.", error.what());
    }
  }
  return std::nullopt;
}

fs::path CheckpointStore::newest_path() const {
  const auto state = newest();
  return state ? fs::path(state->origin()) : fs::path();
}

}  // namespace nascent
