// Scores on disk: one file per space, data and settings, to which every scored architecture adds a line. Later runs and
// searches with the same settings read them instead of computing them again. Format: docs/formats.md.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "nascent/core/options.h"
#include "nascent/space/genotype.h"

namespace nascent {

using Scores = std::map<std::string, double>;  // by metric

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
  // order of the work, however it was done. That file goes away with what it holds.
  void keep_ahead(const Genotype& genotype, const Scores& scores);
  // What was kept so and not added since, also by an earlier process.
  Scores find_ahead(const Genotype& genotype) const;

  size_t size() const { return known_.size(); }
  const std::filesystem::path& path() const { return path_; }  // "" in memory

  // The architecture as one line of text; the same for any order of a node's edges.
  static std::string key(const Genotype& genotype);

 private:
  using Table = std::map<std::string, Scores>;

  void read();
  void read_ahead();
  std::filesystem::path ahead_path() const;

  std::filesystem::path path_;
  std::string header_;
  int file_ = -1, ahead_file_ = -1;
  mutable std::mutex mutex_;
  Table known_, ahead_;
};

}  // namespace nascent
