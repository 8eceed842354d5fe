#include "nascent/core/line_index.h"

#include <algorithm>

#include "nascent/core/checked_lines.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/framed_file.h"
#include "nascent/core/log.h"
#include "nascent/core/options.h"

namespace nascent {

namespace {

constexpr FileFormat kFormat = {
    .magic = "NASLIDX\n", .version = 1, .stranger = "is not an index of lines.", .remedy = "It is made anew."};

// Reading fewer takes milliseconds.
constexpr uint64_t kWorthKeeping = uint64_t{4} << 20;
// Of a long file, so much is in memory while it is read.
constexpr uint64_t kAtOnce = uint64_t{16} << 20;

// Tells whether bytes are those that were indexed: a file that was replaced ends its covered part otherwise.
uint32_t fingerprint(std::string_view bytes, uint64_t covered) {
  constexpr uint64_t kTail = 4096;
  const uint64_t start = covered < kTail ? 0 : covered - kTail;
  return crc32(bytes.substr(start, covered - start));
}

}  // namespace

// False where there is none that belongs to these bytes.
bool LineIndex::load(std::string_view bytes) {
  std::error_code none;
  if (!std::filesystem::exists(path_, none)) return false;
  try {
    MappedFile file(path_);
    const FramedFile parts = read_framed_file(kFormat, file.bytes(), path_.string());
    const Json index = Json::parse(parts.index);
    const auto covered = index.at("covered").get<uint64_t>();
    const auto count = index.at("lines").get<size_t>();
    if (covered > bytes.size() || count > parts.data.size() / sizeof(Entry)) return false;
    if (fingerprint(bytes, covered) != index.at("fingerprint").get<uint32_t>()) return false;
    entries_ = {reinterpret_cast<const Entry*>(parts.data.data()), count};
    covered_ = end_ = covered;
    damaged_ = damaged_covered_ = index.at("damaged").get<uint64_t>();
    file_.emplace(std::move(file));
    return true;
  } catch (const Error& error) {
    log::debug("{}", error.what());
  } catch (const Json::exception& error) {
    log::debug("{}: {}", path_.string(), error.what());
  }
  return false;
}

void LineIndex::unload() {
  entries_ = {};
  covered_ = damaged_covered_ = 0;
  file_.reset();
  recent_.clear();
}

std::vector<LineIndex::Entry> LineIndex::scanned(const MappedFile& file) {
  std::vector<Entry> found;
  end_ = covered_;
  damaged_ = damaged_covered_;
  for (CheckedLines lines(file.bytes(), covered_); lines.next(); end_ = lines.end()) {
    if (lines.end() / kAtOnce > lines.offset() / kAtOnce) file.forget_before(lines.offset());
    if (lines.good()) found.push_back({hash128(key_of(lines.body())), lines.offset()});
    if (!lines.good()) ++damaged_;
  }
  return found;
}

void LineIndex::read(const MappedFile& lines) {
  load(lines.bytes());
  if (!keep(lines)) remember(lines);
}

// Those that the index on disk does not cover.
void LineIndex::remember(const MappedFile& lines) {
  for (const Entry& entry : scanned(lines)) recent_.emplace(entry.key, entry.offset);
}

void LineIndex::add(std::string_view key, uint64_t offset) { recent_.emplace(hash128(key), offset); }

bool LineIndex::keep(const MappedFile& lines) {
  const std::string_view bytes = lines.bytes();
  if (path_.empty() || bytes.size() < covered_ + kWorthKeeping) return false;
  std::vector<Entry> fresh = scanned(lines), all(entries_.size() + fresh.size());
  std::sort(fresh.begin(), fresh.end());
  std::merge(entries_.begin(), entries_.end(), fresh.begin(), fresh.end(), all.begin());
  if (!write(bytes, all)) return false;
  unload();
  if (!load(bytes)) {
    path_.clear();  // what was written is not there: it goes without
    remember(lines);
  }
  return true;
}

bool LineIndex::write(std::string_view bytes, const std::vector<Entry>& all) {
  const size_t size = all.size() * sizeof(Entry);
  const Json index = {
      {"covered", end_}, {"fingerprint", fingerprint(bytes, end_)}, {"lines", all.size()}, {"damaged", damaged_}};
  FramedFileWriter file(kFormat, index.dump(), aligned_in_file(size));
  file.add(all.data(), size);
  try {
    write_file(path_, std::move(file).finish());
  } catch (const Error& error) {
    log::debug("{}", error.what());
    path_.clear();  // it goes without
    return false;
  }
  return true;
}

std::vector<uint64_t> LineIndex::find(std::string_view key) const {
  const Hash128 hash = hash128(key);
  std::vector<uint64_t> offsets;
  for (auto place = std::lower_bound(entries_.begin(), entries_.end(), Entry{hash, 0});
       place != entries_.end() && place->key == hash; ++place) {
    offsets.push_back(place->offset);
  }
  const auto [first, last] = recent_.equal_range(hash);
  for (auto place = first; place != last; ++place) offsets.push_back(place->second);
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

}  // namespace nascent
