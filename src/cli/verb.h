// A verb of the command line: one file under src/cli, registered at its foot.
//
//   class CountVerb : public Verb {
//     void declare(OptionTable& table) override;      // options, defined once
//     Json run(const Invocation& invocation) override;  // does the work, prints for people, returns the result for
//     --json
//   };
//   NASCENT_REGISTER(Verb, "count", "counts things", [] { return std::make_unique<CountVerb>(); });
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"
#include "nascent/core/scale.h"

namespace nascent {

// How a verb was called, beyond its options.
struct Invocation {
  std::string verb;
  std::vector<std::string> arguments;     // positional
  std::vector<std::string> command_line;  // as typed
  std::string recipe;                     // name given with --recipe, or ""
  std::string scale;                      // given with --scale, or ""
  bool json = false;                      // standard output belongs to the result
  std::string resume;                     // run directory to go on with, "" for a new run
  OptionTable* options = nullptr;

  // The only positional argument, or "" where there is none and it is optional.
  std::string argument(const std::string& what, bool required = true) const;
  // Prints a line for people: on standard output, or nowhere with --json.
  void print(const std::string& line) const;
};

class Verb {
 public:
  static std::string kind() { return "verb"; }
  using Registry = nascent::Registry<Verb, std::unique_ptr<Verb>()>;

  virtual ~Verb() = default;
  // What follows the verb besides options, for the usage line: "GENOTYPE", "[NAME]".
  virtual std::string arguments() const { return ""; }
  // Whether --resume applies.
  virtual bool resumable() const { return false; }
  // The verb whose recipes it takes, its own name for all but those that do the same several times.
  virtual std::string recipes_of(const std::string& name) const { return name; }
  virtual void declare(OptionTable& table) = 0;
  // Called once all options have their values: puts numbers in the place of "0: the usual ones", so that what is
  // shown, scaled and kept with the run is what is used.
  virtual void resolve(const Invocation&) {}
  // Whether --scale applies, and how far down.
  virtual bool scalable() const { return false; }
  // Whether the verb passes --scale on by itself, to what it runs.
  virtual bool scales_itself() const { return false; }
  virtual ScaleLimits scale_limits() const { return {}; }
  // Whether its work can be spread over processes (cluster/ranks.h).
  virtual bool spreads() const { return false; }
  virtual Json run(const Invocation& invocation) = 0;
};

// Parses the command line, runs the verb, and turns the outcome into an exit code: 0 done, 2 the user's mistake, 1
// anything else, 130 interrupted with a checkpoint written.
int run_command_line(const std::vector<std::string>& arguments);

}  // namespace nascent
