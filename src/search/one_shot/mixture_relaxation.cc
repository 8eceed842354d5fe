// Mixtures: every candidate runs, weighted by its probability. DARTS with logits ("softmax"), GAEA on the simplex
// ("simplex").
#include "nascent/search/one_shot/relaxation.h"

namespace nascent {
namespace {

class MixtureRelaxation : public ArchitectureRelaxation {
 public:
  using ArchitectureRelaxation::ArchitectureRelaxation;
  Mixture mixture(const SearchPlace&) const override { return architecture_.probabilities(); }
};

NASCENT_REGISTER(
    Relaxation, "softmax", "every candidate runs, weighted by a softmax (DARTS)",
    [](const RelaxationSetup& setup) { return std::make_unique<MixtureRelaxation>(setup, Domain::logits); },
    RelaxationFacts{.domains = {"logits"}, .reads = {"search.edge-weights", "search.spread"}});
NASCENT_REGISTER(
    Relaxation, "simplex", "every candidate runs, weighted by a point of the simplex (GAEA)",
    [](const RelaxationSetup& setup) { return std::make_unique<MixtureRelaxation>(setup, Domain::simplex); },
    RelaxationFacts{.domains = {"simplex"}, .reads = {"search.edge-weights"}});

}  // namespace
}  // namespace nascent
