#include "nascent/score/score_options.h"

#include "nascent/nn/initialiser.h"
#include "nascent/score/probe.h"

namespace nascent {

void ScoreOptions::declare(OptionTable& table) {
  auto section = table.section("score", "Training-free scores of architectures.");
  section.add("metrics", metrics, "what to compute, of " + join(Metric::Registry::instance().names(), ", "));
  section.add("initialiser", initialiser, "how weights start").one_of(Initialiser::Registry::instance().names());
  section
      .add(
          "ntk", ntk,
          "batch statistics in the tangent kernel: constant; summed (coupled, of the sum of all logits, taken apart by "
          "image); or coupled as in training (one pass per image)")
      .one_of({"constant", "summed", "coupled"});
  section.add("kappa-batch", kappa_batch, "images for kappa; 0: data.batch, as for the others").range(0, 65536);
  section.add("kappa-channels", kappa_channels, "channels for kappa; 0: network.channels, as for the others")
      .range(0, 4096);
  section.add("kappa-initialiser", kappa_initialiser, "initialiser for kappa; empty: as for the others");
  section.add("cache", cache, "folder of known scores; empty: in the user's cache folder; none: nothing is kept");
}

KernelGradients ScoreOptions::kernel_gradients() const {
  if (ntk == "summed") return KernelGradients::summed;
  return ntk == "coupled" ? KernelGradients::coupled : KernelGradients::constant;
}

}  // namespace nascent
