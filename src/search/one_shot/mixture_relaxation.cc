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

auto maker(const std::string& domain) {
  return [domain](const RelaxationSetup& setup) {
    RelaxationOptions options = setup.options;
    options.domain = domain;
    return std::make_unique<MixtureRelaxation>(RelaxationSetup{setup.space, options, setup.seed});
  };
}

NASCENT_REGISTER(Relaxation, "softmax", "every candidate runs, weighted by a softmax (DARTS)", maker("logits"));
NASCENT_REGISTER(Relaxation, "simplex", "every candidate runs, weighted by a point of the simplex (GAEA)",
                 maker("simplex"));

}  // namespace
}  // namespace nascent
