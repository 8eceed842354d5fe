// An attack from the files of its victims to its result: what `nascent attack` does.
//
//   Session session({.verb = "attack"}, table, options.run);
//   const Json result = attack(options, session);
#pragma once

#include "nascent/attack/attack_options.h"
#include "nascent/attack/victim_files.h"
#include "nascent/cluster/farm.h"
#include "nascent/data/data_options.h"
#include "nascent/train/session.h"

namespace nascent {

struct AttackingOptions {
  AttackOptions attack;
  DataOptions data = unknown_data();  // without a name: what the first model was trained on
  RunOptions run;

  void declare(OptionTable& table);
  void resolve(const std::string& resume);
};

// Leaves result.json, the images, the figures and the report in the session's folder; returns the result. Fills in
// which data it is, before the session keeps the options. Started as several ranks, these must know the helper
// "attack".
Json attack(AttackingOptions& options, Session& session, const ReadModels& read = read_model);
// That helper: attacks batches on another rank.
std::unique_ptr<cluster::Helper> attack_helper(const Json& opening, const ReadModels& read);

}  // namespace nascent
