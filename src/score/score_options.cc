#include "nascent/score/score_options.h"

#include "nascent/nn/initialiser.h"
#include "nascent/score/probe.h"

namespace nascent {

void ScoreOptions::declare(OptionTable& table) {
  auto section = table.section("score", "Training-free scores of architectures.");
  section.add("metrics", metrics, "metrics to compute; known: " + join(Metric::Registry::instance().names(), ", "));
  section.add("initialiser", initialiser, "weight initialiser").one_of(Initialiser::Registry::instance().names());
  section
      .add("ntk", ntk,
           "how the tangent kernel treats batch statistics: constant; summed (one pass over the sum of all logits, "
           "split by "
           "image); or coupled, as in training (one pass per image)")
      .one_of({"constant", "summed", "coupled"});
  section.add("kappa-batch", kappa_batch, "batch size for kappa; 0: data.batch, as for the other metrics")
      .range(0, 65536);
  section.add("kappa-channels", kappa_channels, "channels for kappa; 0: network.channels, as for the other metrics")
      .range(0, 4096);
  section.add("kappa-initialiser", kappa_initialiser, "initialiser for kappa; empty: as for the other metrics");
  section.add("cache", cache, "score cache folder; empty: the user's cache folder; none: no cache");
}

KernelGradients ScoreOptions::kernel_gradients() const {
  if (ntk == "summed") return KernelGradients::summed;
  return ntk == "coupled" ? KernelGradients::coupled : KernelGradients::constant;
}

}  // namespace nascent
