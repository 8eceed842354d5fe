// TE-NAS (Chen et al., 2021): from the network with every operation on every edge, the operation that matters least is
// pruned from each edge, round by round, until one is left. What matters is ranked by two measures without training:
// how much the condition number of the tangent kernel rises, and how many linear regions are lost, when an operation is
// taken away.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/score/probe.h"

namespace nascent {

struct TeNasOptions {
  int repeats = 3;                   // initialisations that each change is averaged over
  int batch = 72;                    // images of the tangent kernel
  int channels = 3;                  // of the network that the tangent kernel is taken from
  int regions = 3000;                // patches that linear regions are counted with
  void declare(OptionTable& table);  // section "te-nas"
};

struct TeNasSetup {
  std::shared_ptr<const Space> space;
  at::Tensor images;  // [N, channels, height, width], that batches and patches are drawn from
  int classes = 10;
  KernelGradients ntk = KernelGradients::constant;
  uint64_t seed = 1;
};

// An Error for spaces whose operations stand on nodes. Throws Interrupted after Ctrl-C.
Genotype te_nas(const TeNasSetup& setup, const TeNasOptions& options);

// What taking an operation away does, as parts of what there was: to the condition number of the tangent kernel, which
// should fall, and to the number of linear regions, which should not.
struct PruningEffect {
  double kappa_fall = 0, regions_lost = 0;
};
// The rank of each operation by its effect: the lower, the sooner it is pruned. Ranks by both measures, effects that
// agree to a thousandth sharing one, are added; what is left equal goes by the condition number.
std::vector<std::pair<int, int>> pruning_ranks(const std::vector<PruningEffect>& effects);

// One cell of each type, of one channel: what linear regions are counted in. Without the stem where cells can take the
// patch itself.
NetworkPlan thin_supernet(const Space& space, int classes);

}  // namespace nascent
