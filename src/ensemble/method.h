// Methods that find the members of an ensemble. A new one is a new file that registers a function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/ensemble/judge.h"

namespace nascent {

struct EnsembleOptions;

// What an ensemble is made of.
enum class MemberKind { architectures, seeds, passes, snapshots };
std::string kind_name(MemberKind kind);
MemberKind member_kind(const std::string& name);

struct EnsembleMethodFacts {
  MemberKind kind = MemberKind::architectures;
  bool posterior = false;  // draws from a posterior
  // Options of the section "ensemble" that it makes use of and not all methods do (ensemble_check.h).
  std::vector<std::string> reads{};

  bool reads_option(const std::string& name) const;
};

struct MethodSetup {
  const EnsembleOptions& options;
  const Space& space;
  EnsembleJudge& judge;
  const ArchitecturePosterior* posterior = nullptr;  // where the method draws from one
  uint64_t seed = 0;
};

struct FoundEnsemble {
  std::vector<Genotype> members{};
  std::vector<double> weights{};  // empty: all the same
  double loss = 0;                // estimated, of the combined prediction
  Json trace = Json::array();     // by round: loss, best so far, networks evaluated, ensembles judged, ...
};

struct EnsembleMethod {
  static std::string kind() { return "ensemble method"; }
  using Registry = nascent::Registry<EnsembleMethod, FoundEnsemble(const MethodSetup&), EnsembleMethodFacts>;
};

// The best ensemble so far, with a line of the trace for each that was judged.
class BestSoFar {
 public:
  explicit BestSoFar(const MethodSetup& setup) : setup_(setup) {}

  // `more` goes into the line.
  void add(const std::vector<Genotype>& members, const std::vector<double>& weights, double loss,
           const Json& more = Json::object());
  const FoundEnsemble& found() const { return found_; }

 private:
  const MethodSetup& setup_;
  FoundEnsemble found_;
  std::optional<EnsembleFigures> tested_;
};

// Rounds of drawing: the set with the lowest loss wins (thesis, Alg. 5.1). `draw` gives a round's set and may add to
// its line of the trace.
using DrawRound = std::function<std::vector<Genotype>(int round, Json& line)>;
FoundEnsemble best_of_rounds(const MethodSetup& setup, const DrawRound& draw);

// `count` architectures from `draw`, all different unless the options say otherwise; an Error names `remedy` where
// different ones do not come.
std::vector<Genotype> draw_members(const MethodSetup& setup, int count, const std::function<Genotype(uint64_t)>& draw,
                                   const std::string& remedy);

// Throws Interrupted after Ctrl-C: what was evaluated is on disk, so the search goes on from there.
void stop_if_asked();

// A random pool of different architectures, and the best of one.
std::vector<Genotype> random_pool(const MethodSetup& setup, int size);
Genotype best_single(const MethodSetup& setup);

}  // namespace nascent
