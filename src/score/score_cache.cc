#include "nascent/score/score_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <shared_mutex>

#include "nascent/core/checked_lines.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

constexpr const char* kMagic = "nascent-scores 1 ";

std::string text_of(double value) { return fmt::format("{}", value); }  // the shortest that reads back the same

void append(const OpenFile& file, const std::filesystem::path& path, const std::string& line) {
  // One write: lines of several processes do not mix.
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    fail("Cannot write to {}: {}.", path.string(), std::strerror(errno));
  }
}

std::string body_of(const std::string& key, const Scores& scores) {
  std::string body = key;
  for (const auto& [metric, value] : scores) body += fmt::format("\t{}={}", metric, text_of(value));
  return body;
}

void read_scores(std::string_view body, Scores& scores) {
  for (size_t tab = body.find('\t'); tab != std::string_view::npos;) {
    const size_t start = tab + 1, equals = body.find('=', start);
    tab = body.find('\t', start);
    if (equals == std::string_view::npos) return;
    const std::string number(body.substr(equals + 1, tab == std::string_view::npos ? tab : tab - equals - 1));
    scores[std::string(body.substr(start, equals - start))] = std::strtod(number.c_str(), nullptr);
  }
}

// Text that stands in JSON as it is.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

bool is_plain(const Genotype& genotype) {
  return is_plain(genotype.space) && std::all_of(genotype.cells.begin(), genotype.cells.end(),
                                                 [](const CellGenotype& cell) { return is_plain(cell.type); });
}

void append_node(std::string& text, const GenotypeNode& node) {
  text += '{';
  if (!node.op.empty()) (text += "\"op\":\"").append(node.op) += "\",";
  text += "\"edges\":[";
  for (size_t i = 0; i < node.edges.size(); ++i) {
    const GenotypeEdge& edge = node.edges[i];
    if (i > 0) text += ',';
    const bool plain = !node.op.empty() && edge.op == "skip_connect";
    if (!plain) (text += "[\"").append(edge.op) += "\",";
    text += std::to_string(edge.from);
    if (!plain) text += ']';
  }
  text += "]}";
}

void append_cell(std::string& text, const CellGenotype& cell) {
  (text += "{\"type\":\"").append(cell.type) += "\",\"inputs\":";
  text += std::to_string(cell.inputs) + ",\"nodes\":[";
  for (size_t i = 0; i < cell.nodes.size(); ++i) {
    if (i > 0) text += ',';
    append_node(text, cell.nodes[i]);
  }
  text += "],\"output\":[";
  for (size_t i = 0; i < cell.output.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(cell.output[i]);
  }
  text += "]}";
}

// The JSON form in one line, written down directly: every look-up begins with it.
std::string one_line(const Genotype& genotype) {
  std::string text = "{\"space\":\"" + genotype.space + "\",\"cells\":[";
  text.reserve(1024);
  for (size_t i = 0; i < genotype.cells.size(); ++i) {
    if (i > 0) text += ',';
    append_cell(text, genotype.cells[i]);
  }
  return text += "]}";
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
  return is_plain(sorted) ? one_line(sorted) : Json::parse(to_text(sorted, "json")).dump();
}

ScoreCache::ScoreCache(const std::filesystem::path& folder, const std::string& space, const Json& settings)
    : header_(kMagic + settings.dump()) {
  make_folders(folder);
  const std::string name = std::filesystem::path(space).stem().string();
  path_ = folder / fmt::format("{}-{:08x}.scores", name, crc32(header_));
  file_ = OpenFile::at(path_, O_RDWR | O_APPEND | O_CREAT);
  if (!file_) {
    fail("Cannot write scores to {}: {}. Choose another folder with --cache.", path_.string(), std::strerror(errno));
  }
  // Others may be about to begin, mend or add to the same file.
  const std::lock_guard alone(file_);
  read();
  read_ahead();
}

ScoreCache::~ScoreCache() {
  if (!file_) return;
  keep_index();
  ahead_file_ = OpenFile();
  try {
    if (ahead_.empty()) read_ahead();
  } catch (const std::exception& error) {
    log::debug("{}", error.what());  // the next one to open the file sees to it
  }
}

std::filesystem::path ScoreCache::ahead_path() const { return path_.string() + ".ahead"; }

// Takes what an earlier process left and the cache does not hold yet; a file without any goes away. A last line cut
// short by a kill is dropped, as is a damaged one: what they held is computed again. A file that a process writes to is
// that one's alone.
void ScoreCache::read_ahead() {
  const OpenFile file = OpenFile::at(ahead_path(), O_RDWR);
  if (!file && errno == ENOENT) return;
  if (!file) fail("Cannot read {}: {}.", ahead_path().string(), std::strerror(errno));
  const std::unique_lock alone(file, std::try_to_lock);
  if (!alone) return;
  const MappedFile bytes(file, ahead_path());
  CheckedLines lines(bytes.bytes());
  while (lines.next()) {
    if (lines.good()) keep_news(lines.body());
  }
  std::error_code none;
  if (ahead_.empty()) {
    std::filesystem::remove(ahead_path(), none);
  } else if (lines.end() < bytes.bytes().size() && ftruncate(file.get(), static_cast<off_t>(lines.end())) != 0) {
    fail("Cannot mend the last line of {}: {}.", ahead_path().string(), std::strerror(errno));
  }
}

void ScoreCache::keep_news(std::string_view body) {
  const std::string key(LineIndex::key_of(body));
  Scores scores;
  read_scores(body, scores);
  const Scores known = find_line(key);
  const auto is_known = [&](const auto& score) { return known.contains(score.first); };
  if (!std::all_of(scores.begin(), scores.end(), is_known)) read_scores(body, ahead_[key]);
}

// Another process may take the file away before it is locked.
void ScoreCache::open_ahead() {
  while (!ahead_file_ || !ahead_file_.is_at(ahead_path())) {
    ahead_file_ = OpenFile::at(ahead_path(), O_WRONLY | O_APPEND | O_CREAT);
    if (!ahead_file_) fail("Cannot write {}: {}.", ahead_path().string(), std::strerror(errno));
    ahead_file_.lock_shared();
  }
}

void ScoreCache::read() {
  const MappedFile file(file_, path_);
  index_ = std::make_unique<LineIndex>(path_.string() + ".index");
  CheckedLines lines(file.bytes());
  if (!lines.next()) {  // new, or its first line was cut short
    if (ftruncate(file_.get(), 0) != 0) fail("Cannot begin {} anew: {}.", path_.string(), std::strerror(errno));
    return append(file_, path_, checked_line(header_));
  }
  if (!lines.good() || lines.body() != header_) {
    fail("{} is not a file of scores for these settings. Move it away, or choose another folder with --cache.",
         path_.string());
  }
  index_->read(file);
  if (index_->end() < file.bytes().size() && ftruncate(file_.get(), static_cast<off_t>(index_->end())) != 0) {
    fail("Cannot mend the last line of {}: {}.", path_.string(), std::strerror(errno));
  }
  if (index_->damaged() > 0) {
    log::warning("{}: {} damaged lines skipped; what they held is computed again.", path_.string(), index_->damaged());
  }
}

void ScoreCache::keep_index() noexcept {
  try {
    const std::lock_guard alone(file_);
    // Another file that has taken its place has an index of its own.
    if (file_.is_at(path_)) index_->keep(MappedFile(file_, path_));
  } catch (const std::exception& error) {
    log::debug("{}", error.what());  // the next one to open the file reads it anew
  }
}

std::string ScoreCache::line_at(uint64_t offset) const {
  constexpr size_t kUsual = 1024;
  std::string line;
  for (size_t feed = std::string::npos; feed == std::string::npos; feed = line.find('\n')) {
    const size_t known = line.size();
    line.resize(known + kUsual);
    const ssize_t count = ::pread(file_.get(), line.data() + known, kUsual, static_cast<off_t>(offset + known));
    if (count <= 0) return "";
    line.resize(known + static_cast<size_t>(count));
  }
  return line;
}

// Later lines win. What is damaged is not known.
Scores ScoreCache::find_line(const std::string& key) const {
  Scores scores;
  for (const uint64_t offset : index_->find(key)) {
    const std::string bytes = line_at(offset);
    CheckedLines line(bytes);
    if (line.next() && line.good() && LineIndex::key_of(line.body()) == key) read_scores(line.body(), scores);
  }
  return scores;
}

Scores ScoreCache::find(const Genotype& genotype) const {
  const std::string name = key(genotype);
  const std::lock_guard lock(mutex_);
  if (index_) return find_line(name);
  const auto it = memory_.find(name);
  return it == memory_.end() ? Scores() : it->second;
}

void ScoreCache::add(const Genotype& genotype, const Scores& scores) {
  const std::string name = key(genotype);
  const std::lock_guard lock(mutex_);
  ahead_.erase(name);
  if (!index_) {
    for (const auto& [metric, value] : scores) memory_[name][metric] = value;
    return;
  }
  const std::string line = checked_line(body_of(name, scores));
  {
    const std::shared_lock with_others(file_);  // but not with one that mends the end of the file
    append(file_, path_, line);
  }
  index_->add(name, static_cast<uint64_t>(::lseek(file_.get(), 0, SEEK_CUR)) - line.size());
  if (index_->is_long()) keep_index();
}

void ScoreCache::keep_ahead(const Genotype& genotype, const Scores& scores) {
  if (!file_) return;  // what is in memory only is lost either way
  const std::string name = key(genotype);
  const std::lock_guard lock(mutex_);
  ahead_[name] = scores;
  if (!ahead_file_) open_ahead();
  append(ahead_file_, ahead_path(), checked_line(body_of(name, scores)));
}

Scores ScoreCache::find_ahead(const Genotype& genotype) const {
  const std::lock_guard lock(mutex_);
  const auto it = ahead_.find(key(genotype));
  return it == ahead_.end() ? Scores() : it->second;
}

}  // namespace nascent
