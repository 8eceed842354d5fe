// A job whose steps do not need one another, each done by whichever rank is free. Rank 0 runs it as if it were alone,
// with its checkpoints and events, and takes up what the steps have found in their order; so what comes of it does not
// depend on the ranks, and a run that was begun on several goes on on one.
//
//   check_ranks_for(job, "batches of images");                                    // before there is a run
//   run_farmed(job, opening, [&](Job& job) { session.run(job); });                // on rank 0
//   NASCENT_REGISTER(cluster::Helper, "attack", ..., [](const Json& opening) {    // on the others
//     return helper_at(job_from(opening), digest);
//   });
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nascent/cluster/farm.h"
#include "nascent/train/loop.h"
#include "nascent/train/session.h"

namespace nascent {

class FarmedJob : public Job {
 public:
  // What a step finds, from the options alone: asked for in any order, also before its epoch has begun.
  virtual std::string piece(int64_t epoch, int64_t step) = 0;
  // Takes up what it has found, in the order of the steps.
  virtual StepReport take(int64_t epoch, int64_t step, const std::string& found, EventSink& events) = 0;
  // Whether a step is such a one. Others are taken in their turn, by rank 0.
  virtual bool stands_alone(int64_t, int64_t) const { return true; }

  StepReport step(int64_t epoch, int64_t step, EventSink& events) override {
    return take(epoch, step, piece(epoch, step), events);
  }
};

// How other ranks come to the same job: the name of their helper, what it is made from, the digest of the files that it
// reads, and where they log.
struct FarmOpening {
  std::string helper{};
  Json opening{};
  std::string digest{};
  std::string log{};
};

// `options` has declare(OptionTable&) and a RunOptions `run`; helpers read them again by farmed_options().
template <class Options>
FarmOpening farm_opening(const std::string& helper, Options options, std::string digest, const Session& session) {
  OptionTable table;
  options.declare(table);
  return {helper, {{"options", table.to_toml()}}, std::move(digest), session.directory().path().string() + "/"};
}
template <class Options>
Options farmed_options(const Json& opening) {
  Options options;
  OptionTable table;
  options.declare(table);
  table.read_toml(opening.at("options").get<std::string>(), "rank 0");
  options.run.apply();
  return options;
}

// An Error where there are more ranks than steps.
void check_ranks_for(const FarmedJob& job, const std::string& steps);
// Has `run` do the job, with the help of the other ranks where there are any.
void run_farmed(FarmedJob& job, const FarmOpening& opening, const std::function<void(Job&)>& run);
// Does steps of the job on another rank.
std::unique_ptr<cluster::Helper> helper_at(std::shared_ptr<FarmedJob> job, std::string digest);

}  // namespace nascent
