// The one door to every search: from options to a genotype, in a run of its own.
//
//   SearchOptions options;
//   options.space = "nasbench201";
//   options.resolve();
//   const SearchResult found = search(options, session);   // found.genotype, found.directory
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "nascent/search/search_options.h"
#include "nascent/train/session.h"

namespace nascent {

struct SearchResult {
  Genotype genotype{};
  std::string method{}, recipe{};  // recipe "": none was named
  int64_t seed = 1;
  double seconds = 0;                  // of work
  std::optional<double> valid_top1{};  // of what was found on held-out data, where it was measured
  Json facts = Json::object();         // what the method tells beyond that: sizes, ranks in a table, trials, stages
  std::filesystem::path directory{}, report{};

  // What result.json holds. The time is not in it where it would be all that differs between two runs of many parts.
  Json stored(bool with_time = true) const;
  Json to_json() const;  // the same, always with the time, and where the run is
};

// What a search that is done left in its folder.
SearchResult search_result(const std::filesystem::path& folder);

// Begins the session and concludes it: one search, several with the stages after them, or several methods against one
// another, as the options say.
SearchResult search(const SearchOptions& options, Session& session);

// One line that names a cell: its shortest text form.
std::string short_text(const Genotype& genotype);

}  // namespace nascent
