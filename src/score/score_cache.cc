#include "nascent/score/score_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

constexpr const char* kMagic = "nascent-scores 1 ";

std::string with_checksum(const std::string& body) { return fmt::format("{:08x}\t{}\n", crc32(body), body); }

// The part of a line after its checksum; nothing where they disagree.
std::optional<std::string> checked(const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return std::nullopt;
  const std::string body = line.substr(tab + 1);
  if (line.substr(0, tab) != fmt::format("{:08x}", crc32(body))) return std::nullopt;
  return body;
}

std::string text_of(double value) { return fmt::format("{}", value); }  // the shortest that reads back the same

void append(int file, const std::filesystem::path& path, const std::string& line) {
  // One write: lines of several processes do not mix.
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail("Cannot write to {}: {}.", path.string(), std::strerror(errno));
  }
}

std::string body_of(const std::string& key, const Scores& scores) {
  std::string body = key;
  for (const auto& [metric, value] : scores) body += fmt::format("\t{}={}", metric, text_of(value));
  return body;
}

void read_body(const std::string& body, std::map<std::string, Scores>& table) {
  const auto fields = split(body, '\t');
  Scores& scores = table[fields[0]];
  for (size_t i = 1; i < fields.size(); ++i) {
    const size_t equals = fields[i].find('=');
    scores[fields[i].substr(0, equals)] = std::strtod(fields[i].c_str() + equals + 1, nullptr);
  }
}

}  // namespace

std::string ScoreCache::key(const Genotype& genotype) {
  Genotype sorted = genotype;
  for (auto& cell : sorted.cells) {
    for (auto& node : cell.nodes) {
      std::stable_sort(node.edges.begin(), node.edges.end(),
                       [](const GenotypeEdge& a, const GenotypeEdge& b) { return a.from < b.from; });
    }
  }
  const std::string form = text_forms(sorted).back();
  if (form == "nasbench201") return to_text(sorted, form);
  return Json::parse(to_text(sorted, "json")).dump();
}

ScoreCache::ScoreCache(const std::filesystem::path& folder, const std::string& space, const Json& settings)
    : header_(kMagic + settings.dump()) {
  make_folders(folder);
  const std::string name = std::filesystem::path(space).stem().string();
  path_ = folder / fmt::format("{}-{:08x}.scores", name, crc32(header_));
  file_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0)
    fail("Cannot write scores to {}: {}. Choose another folder with --cache.", path_.string(), std::strerror(errno));
  // Others may be about to begin, mend or add to the same file.
  flock(file_, LOCK_EX);
  read();
  read_ahead();
  flock(file_, LOCK_UN);
}

ScoreCache::~ScoreCache() {
  if (file_ >= 0) ::close(file_);
  if (ahead_file_ >= 0) ::close(ahead_file_);
  std::error_code none;  // another process may have done so
  if (file_ >= 0 && ahead_.empty()) std::filesystem::remove(ahead_path(), none);
}

std::filesystem::path ScoreCache::ahead_path() const { return path_.string() + ".ahead"; }

// A last line cut short by a kill is dropped, as is a damaged one: what they held is computed again.
void ScoreCache::read_ahead() {
  if (!std::filesystem::exists(ahead_path())) return;
  const std::string bytes = read_file(ahead_path());
  const size_t end = bytes.rfind('\n') + 1;
  if (end < bytes.size()) std::filesystem::resize_file(ahead_path(), end);
  for (const auto& line : split(bytes.substr(0, end), '\n')) {
    if (const auto body = checked(line)) read_body(*body, ahead_);
  }
  const auto added = [&](const auto& entry) {
    const auto known = known_.find(entry.first);
    return known != known_.end() && std::all_of(entry.second.begin(), entry.second.end(),
                                                [&](const auto& score) { return known->second.contains(score.first); });
  };
  std::erase_if(ahead_, added);
}

void ScoreCache::read() {
  const std::string bytes = read_file(path_);
  const size_t end = bytes.rfind('\n') + 1;  // 0 where there is no line
  if (end < bytes.size() && ftruncate(file_, static_cast<off_t>(end)) != 0) {
    fail("Cannot mend the last line of {}: {}.", path_.string(), std::strerror(errno));
  }
  if (end == 0) return append(file_, path_, with_checksum(header_));
  int damaged = 0;
  bool first = true;
  for (const auto& line : split(bytes.substr(0, end - 1), '\n')) {
    const auto body = checked(line);
    if (first && (!body || *body != header_)) {
      fail("{} is not a file of scores for these settings. Move it away, or choose another folder with --cache.",
           path_.string());
    }
    if (!first && !body) ++damaged;
    if (!first && body) read_body(*body, known_);
    first = false;
  }
  if (damaged > 0)
    log::warning("{}: {} damaged lines skipped; what they held is computed again.", path_.string(), damaged);
}

Scores ScoreCache::find(const Genotype& genotype) const {
  const std::lock_guard lock(mutex_);
  const auto it = known_.find(key(genotype));
  return it == known_.end() ? Scores() : it->second;
}

void ScoreCache::add(const Genotype& genotype, const Scores& scores) {
  const std::string name = key(genotype);
  const std::lock_guard lock(mutex_);
  Scores& known = known_[name];
  for (const auto& [metric, value] : scores) known[metric] = value;
  if (file_ >= 0) append(file_, path_, with_checksum(body_of(name, scores)));
  ahead_.erase(name);
}

void ScoreCache::keep_ahead(const Genotype& genotype, const Scores& scores) {
  if (file_ < 0) return;  // what is in memory only is lost either way
  const std::string name = key(genotype);
  const std::lock_guard lock(mutex_);
  ahead_[name] = scores;
  if (ahead_file_ < 0) ahead_file_ = ::open(ahead_path().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (ahead_file_ < 0) fail("Cannot write {}: {}.", ahead_path().string(), std::strerror(errno));
  append(ahead_file_, ahead_path(), with_checksum(body_of(name, scores)));
}

Scores ScoreCache::find_ahead(const Genotype& genotype) const {
  const std::lock_guard lock(mutex_);
  const auto it = ahead_.find(key(genotype));
  return it == ahead_.end() ? Scores() : it->second;
}

}  // namespace nascent
