// Ensembles of one architecture: several seeds of it, several passes with paths dropped, snapshots of one training; and
// the architecture alone.
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/method.h"

namespace nascent {
namespace {

FoundEnsemble copies(const MethodSetup& setup, int count) {
  const Genotype best = best_single(setup);
  FoundEnsemble result;
  result.members.assign(static_cast<size_t>(count), best);
  if (setup.options.genotype.empty()) {
    result.loss = setup.judge.loss({best});
    setup.judge.count_ensembles(-1);  // it was judged among the pool
    result.trace.push_back({{"round", 1},
                            {"loss", result.loss},
                            {"best", result.loss},
                            {"networks", setup.judge.networks()},
                            {"ensembles", setup.judge.ensembles()}});
  }
  return result;
}

FoundEnsemble several(const MethodSetup& setup) { return copies(setup, setup.options.members); }
FoundEnsemble one(const MethodSetup& setup) { return copies(setup, 1); }

NASCENT_REGISTER(EnsembleMethod, "deep-ensemble", "one architecture trained from several seeds", several,
                 EnsembleMethodFacts{.kind = MemberKind::seeds, .reads = {"members", "pool", "distinct", "genotype"}});
NASCENT_REGISTER(EnsembleMethod, "mc-droppath", "one network that answers several times with paths dropped", one,
                 EnsembleMethodFacts{.kind = MemberKind::passes,
                                     .reads = {"members", "pool", "distinct", "genotype", "drop"}});
NASCENT_REGISTER(EnsembleMethod, "snapshot", "one training with a cyclic learning rate, a member per cycle", one,
                 EnsembleMethodFacts{.kind = MemberKind::snapshots,
                                     .reads = {"members", "pool", "distinct", "genotype"}});
NASCENT_REGISTER(EnsembleMethod, "single", "the best architecture of a pool, alone", one,
                 EnsembleMethodFacts{.reads = {"pool", "distinct", "genotype"}});

}  // namespace
}  // namespace nascent
