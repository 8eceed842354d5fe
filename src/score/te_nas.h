// TE-NAS (Chen et al., 2021): from the network with every operation on every edge, the operation that matters least is
// pruned from each edge, round by round, until one is left. What matters is ranked by two measures without training:
// how much the condition number of the tangent kernel rises, and how many linear regions are lost, when an operation is
// taken away.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/options.h"
#include "score/probe.h"

namespace nascent {

struct TeNasOptions {
  int repeats = 3;                   // initialisations that each measure is averaged over
  int batch = 16;                    // images of the tangent kernel
  int channels = 3;                  // of the network that the tangent kernel is taken from
  int regions = 1000;                // images that linear regions are counted with
  void declare(OptionTable& table);  // section "te-nas"
};

struct TeNasSetup {
  std::shared_ptr<const Space> space;
  TensorBatch images;
  int classes = 10;
  uint64_t seed = 1;
};

// An Error for spaces whose operations stand on nodes. Throws Interrupted after Ctrl-C.
Genotype te_nas(const TeNasSetup& setup, const TeNasOptions& options);

// The supernet's plan with, on each edge, only the candidates that `left` lists (per cell type and edge), one edge
// beside another: what a Tape can read.
NetworkPlan pruned_plan(const NetworkPlan& supernet, const std::map<std::string, std::vector<std::vector<int>>>& left);

}  // namespace nascent
