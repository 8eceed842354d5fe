// A search for an ensemble, in a run of its own: supernet, posterior and pool are parts of it.
//
//   EnsembleOptions options;
//   const EnsembleSearchResult found = search_ensemble(options, session);
//
// The run leaves ensemble.json, what the ensemble is made of, for `nascent ensemble train`.
#pragma once

#include <filesystem>

#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/figures.h"
#include "nascent/ensemble/method.h"
#include "nascent/train/session.h"

namespace nascent {

// What an ensemble is made of, before it is trained.
struct EnsembleDescription {
  MemberKind kind = MemberKind::architectures;
  std::string space{};
  std::vector<Genotype> members{};
  std::vector<double> weights{};
  std::string combine = "probabilities";
  int passes = 1;        // members of the kinds "passes" and "snapshots"
  double drop_path = 0;  // passes

  Json to_json() const;
  // From the folder of a search for an ensemble.
  static EnsembleDescription load(const std::filesystem::path& folder);
};

struct EnsembleSearchResult {
  EnsembleDescription ensemble{};
  Json facts = Json::object();  // what result.json holds
  std::filesystem::path directory{}, report{};
};

// Begins the session and concludes it.
EnsembleSearchResult search_ensemble(const EnsembleOptions& options, Session& session);

}  // namespace nascent
