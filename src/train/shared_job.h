// A job whose batches are cut into shards, done by all ranks together. Rank 0 runs it as if it were alone, with its
// checkpoints and events; the others take every step with it, each on its own shards, and hold the same state.
//
//   run_shared(trainer, trainer, open, [&](Job& job) { session.run(job); });   // on rank 0
//   follow(trainer, team);                                                     // on the others
#pragma once

#include <functional>
#include <string>

#include "nascent/cluster/team.h"
#include "nascent/train/loop.h"
#include "nascent/train/session.h"
#include "nascent/train/shards.h"

namespace nascent {

class SharedJob : public Job {
 public:
  // From now on the ranks share its shards. `team` outlives the steps.
  virtual void join(cluster::Team& team) = 0;
};

// What rank 0 opens a team with, and how the run is called that its companions log beside.
struct TeamOpening {
  std::string companion{};
  Json opening{};
  std::string digest{};  // of the images
  std::string log{};
};

// `options` has declare(OptionTable&); companions read them again by options_from().
template <class Options>
TeamOpening opening_with(const std::string& companion, Options options, uint32_t digest, const Session& session) {
  OptionTable table;
  options.declare(table);
  return {companion, table.to_toml(), std::to_string(digest), session.directory().path().string() + "/"};
}
template <class Options>
Options options_from(const Json& opening) {
  Options options;
  OptionTable table;
  options.declare(table);
  table.read_toml(opening.get<std::string>(), "rank 0");
  options.run.apply();
  return options;
}

// Has `run` do the job, on all ranks where there are several and it is not a part of another run (`alone`). `outer` is
// what is run: the job itself, or one that does more besides on rank 0.
void run_shared(SharedJob& job, Job& outer, const TeamOpening& opening, bool alone,
                const std::function<void(Job&)>& run);

// Takes the steps that rank 0 takes, until the team is disbanded.
void follow(SharedJob& job, cluster::Team& team);

}  // namespace nascent
