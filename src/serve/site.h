// The pages: which address shows what.
//
//   /                        the page; its scripts and styles under /web/
//   /api/runs                every run in a line
//   /api/options             options in which runs differ
//   /api/runs/3              all about run 3 but its events
//   /api/runs/3/events       its events after ?after=ID, in chunks
//   /runs/3/files/NAME       one of its files, by a name from a fixed list
//   /runs/3/pictures/0       one of the pictures that it lists
//   /runs/3/report           its report, which runs no scripts here
#pragma once

#include <string>
#include <vector>

#include "nascent/serve/exchange.h"
#include "nascent/serve/run_index.h"

namespace nascent::serve {

class Site {
 public:
  explicit Site(std::filesystem::path folder) : runs_(std::move(folder)) {}

  // For requests that the gate has let through.
  Response answer(const Request& request);
  RunIndex& runs() { return runs_; }

 private:
  using Words = std::vector<std::string>;

  Response list(const Request& request);
  Response differing_options();
  Response run_page(const Words& words, const Request& request);
  Response run_api(const Words& words, const Request& request);
  Response detail(const RunIndex::Entry& run);
  Response events(const RunIndex::Entry& run, const Request& request);
  Response file(const RunIndex::Entry& run, const std::string& name);
  Response picture(const RunIndex::Entry& run, const std::string& number);
  Response report(const RunIndex::Entry& run);
  Response events_csv(const RunIndex::Entry& run);
  Json pictures(const RunIndex::Entry& run) const;
  Json files(const RunIndex::Entry& run) const;

  void write_list();

  RunIndex runs_;
  std::string list_, list_version_;  // as it was last written
  uint64_t list_changes_ = 0;
};

}  // namespace nascent::serve
