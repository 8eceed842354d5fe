// Cells on paper, from what stands before them: the part that all skeletons share.
#pragma once

#include <string>
#include <vector>

#include "nascent/space/plan.h"

namespace nascent {

// Where a cell stands in its network.
struct CellSite {
  std::vector<Shape> inputs{};  // the last one is the block directly before
  int channels = 0;             // of each node
  bool reduction = false;       // edges from the cell's inputs have stride 2
  bool affine = true;
  bool pool_norm = false;
  bool project_always = false;  // ReLU-conv1x1-BN on every input (DARTS), not only where the channels differ
  int partial = 1;              // of supernets: 1/partial of the channels pass through the candidates
};

// The cell of `type`: of the genotype, or where that is null, of the supernet.
CellPlan plan_cell(const Space& space, const Genotype* genotype, const std::string& type, const CellSite& site);

// A block without choices: one node that sums the given branches of one input.
CellPlan plan_fixed_block(const Shape& input, const std::vector<Stages>& branches, bool reduction);

// Checks that the states agree and fills in the output shape.
void finish_cell(CellPlan& cell);

// The 2x2 windows of stride 2 that cover a side of any length: an odd side is padded, and padding does not count.
Stage halving_pool(Stage pool, const Shape& input);

// The size asked for, or the default of the skeleton (networks) or of the space (supernets).
int cells_of(const NetworkOptions& options, const Space& space, const Genotype* genotype, int trained_default);
int channels_of(const NetworkOptions& options, const Space& space, const Genotype* genotype, int trained_default);

// An Error unless `channels` can be divided by network.partial.
void check_partial(int channels, int partial);

// An Error: only the darts skeletons know an auxiliary head.
void refuse_auxiliary(const NetworkOptions& options, const std::string& skeleton);
void refuse_stem_stride(const NetworkOptions& options, const std::string& skeleton);

}  // namespace nascent
