// Scores on disk: one file per space, data and settings, to which every scored architecture adds a line. Later runs and
// searches with the same settings read them instead of computing them again. Of the file only an index is in memory,
// and of that the larger part on disk, so that it may hold millions. Format: docs/formats.md.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "nascent/core/line_index.h"
#include "nascent/core/open_file.h"
#include "nascent/core/options.h"
#include "nascent/score/score_columns.h"
#include "nascent/space/genotype.h"

namespace nascent {

class ScoreCache {
 public:
  // Scores in memory only.
  ScoreCache() = default;
  // Reads what is there for these settings, or begins a file. A last line cut short by a kill is dropped; a damaged
  // line is reported and skipped.
  ScoreCache(const std::filesystem::path& folder, const std::string& space, const Json& settings);
  ~ScoreCache();
  ScoreCache(const ScoreCache&) = delete;
  ScoreCache& operator=(const ScoreCache&) = delete;

  // All known scores of an architecture. Both functions may be called from several threads.
  Scores find(const Genotype& genotype) const;
  // On disk when it returns.
  void add(const Genotype& genotype, const Scores& scores);
  // Keeps scores in a file beside the cache, FILE.ahead, until their turn to be added has come: lines stand in the
  // order of the work, however it was done. That file goes away when all that it holds has been added and no process
  // writes to it.
  void keep_ahead(const Genotype& genotype, const Scores& scores);
  // What was kept so and not added since, also by an earlier process that has ended.
  Scores find_ahead(const Genotype& genotype) const;

  const std::filesystem::path& path() const { return path_; }  // "" in memory

  // The architecture as one line of text; the same for any order of a node's edges.
  static std::string key(const Genotype& genotype);

 private:
  using Table = std::map<std::string, Scores>;

  void read();
  void open_ahead();
  void read_ahead();
  void keep_news(std::string_view body);
  Scores find_line(const std::string& key) const;
  // The line at an offset of the file, without its line feed; "" where there is none.
  std::string line_at(uint64_t offset) const;
  void keep_index() noexcept;
  std::filesystem::path ahead_path() const;

  std::filesystem::path path_;
  std::string header_;
  OpenFile file_;
  OpenFile ahead_file_;  // locked as long as this process may write to it
  mutable std::mutex mutex_;
  std::unique_ptr<LineIndex> index_;  // of the file
  Table memory_;                      // scores that are in no file
  Table ahead_;
};

}  // namespace nascent
