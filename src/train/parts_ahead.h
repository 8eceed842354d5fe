// Parts of a run (Session::part) that do not need one another, spread over the ranks.
//
//   PartsAhead ahead(session, options.run);
//   for (...) ahead.add(folder, start, training);
//   ahead.run();                                   // one rank: does nothing
//   for (...) session.part(folder, start, ...);    // reads what is done, and does the rest in turn
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nascent/data/data_options.h"
#include "nascent/train/session.h"

namespace nascent {

// One part, as another rank needs it told.
struct PartOrder {
  std::filesystem::path path{};
  SessionStart start{};
  std::string options{};  // as TOML
  RunOptions parent{};    // of the run that it is a part of
};

// A verb whose runs may be parts: runs one to its end.
class PartVerb {
 public:
  static std::string kind() { return "part"; }
  using Registry = nascent::Registry<PartVerb, void(const PartOrder&)>;
};

// How a part starts: takes over into `run` what it has from its parent, and into `table` what it began with.
SessionStart part_start(const std::filesystem::path& path, SessionStart start, const RunOptions& parent,
                        OptionTable& table, RunOptions& run);

// What a PartVerb does, for options and a body as Session::part has them.
template <class Options, class Body>
void do_part(const PartOrder& order, Body&& body) {
  Options own;
  OptionTable table;
  own.declare(table);
  table.read_toml(order.options, order.path.string());
  const SessionStart started = part_start(order.path, order.start, order.parent, table, own.run);
  own.resolve(started.resume);
  Session session(started, table, own.run);
  body(std::as_const(own), session);
}

class PartsAhead {
 public:
  // `data`, where given, are the images that all parts work on: a rank that has others, or none, is refused.
  PartsAhead(Session& session, const RunOptions& run, std::optional<DataOptions> data = std::nullopt);

  // `start.verb` is a PartVerb.
  template <class Options>
  void add(const std::string& folder, const SessionStart& start, Options options) {
    OptionTable table;
    options.declare(table);
    add(folder, start, table.to_toml());
  }
  // Does those that are not done. An Error of a part is left to Session::part, which meets it in its turn.
  void run();

 private:
  void add(const std::string& folder, const SessionStart& start, std::string options);

  Session& session_;
  RunOptions run_;
  std::optional<DataOptions> data_;
  std::vector<PartOrder> orders_;
};

}  // namespace nascent
