// NAS-Bench-201 and the three spaces of NAS-Bench-1Shot1.
#include "nascent/space/cell_space.h"

namespace nascent {

namespace {

std::shared_ptr<const Space> nasbench201() {
  CellChoices cell{.type = "cell", .inputs = 1};
  for (int node = 1; node <= 3; ++node) cell.nodes.push_back(any_inputs(node, node));
  cell.output = {3};
  return std::make_shared<const CellSpace>(
      SpaceDescription{.name = "nasbench201",
                       .description = "NAS-Bench-201: one cell of 6 edges, 5 operations",
                       .skeleton = "nasbench201",
                       .ops = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"},
                       .cells = {cell},
                       .default_cells = 5});
}

// `parents` are the inputs that each node keeps, those of the output last.
std::shared_ptr<const Space> one_shot(const std::string& name, const std::vector<int>& parents) {
  const int nodes = static_cast<int>(parents.size()) - 1;
  CellChoices cell{.type = "cell", .inputs = 1};
  for (int node = 1; node <= nodes; ++node) cell.nodes.push_back(any_inputs(node, parents[node - 1]));
  cell.output = states(0, nodes);
  cell.output_keep = parents.back();
  cell.ops_on_nodes = true;
  return std::make_shared<const CellSpace>(
      SpaceDescription{.name = name,
                       .description = "NAS-Bench-1Shot1: a part of NAS-Bench-101 that has a supernet",
                       .skeleton = "nasbench101",
                       .ops = {"conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3"},
                       .cells = {cell},
                       .default_cells = 3});
}

}  // namespace

NASCENT_REGISTER(Space, "nasbench201", "one cell of 6 edges, 5 operations, 15 625 architectures", nasbench201);
NASCENT_REGISTER(Space, "nasbench1shot1-s1", "NAS-Bench-1Shot1 S1: nodes keep 1, 2, 2, 2 inputs, the output 2", [] {
  return one_shot("nasbench1shot1-s1", {1, 2, 2, 2, 2});
});
NASCENT_REGISTER(Space, "nasbench1shot1-s2", "NAS-Bench-1Shot1 S2: nodes keep 1, 1, 2, 2 inputs, the output 3", [] {
  return one_shot("nasbench1shot1-s2", {1, 1, 2, 2, 3});
});
NASCENT_REGISTER(Space, "nasbench1shot1-s3", "NAS-Bench-1Shot1 S3: nodes keep 1, 1, 1, 2, 2 inputs, the output 2", [] {
  return one_shot("nasbench1shot1-s3", {1, 1, 1, 2, 2, 2});
});

}  // namespace nascent
