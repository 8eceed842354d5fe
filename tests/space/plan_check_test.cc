#include "nascent/space/plan_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "errors.h"

namespace nascent {
namespace {

NetworkPlan network(const std::string& genotype, NetworkOptions options = {.channels = 4, .cells = 1}) {
  const Genotype found = find_genotype(genotype);
  const auto space = find_space(found.space);
  if (space->skeleton() == "darts") options.cells = 3;
  return plan_network(*space, found, options, {3, 16, 16}, 10);
}

TEST(PlanCheck, PassesWhatIsMade) {
  for (const std::string name : {"darts-v2", "amoebanet", "nasbench201:77", "nasbench1shot1-s2:5"}) {
    EXPECT_NO_THROW(check_plan(network(name))) << name;
  }
  for (const std::string& name : Space::Registry::instance().names()) {
    const auto space = find_space(name);
    try {
      check_plan(plan_supernet(*space, {.channels = 8}, {3, 32, 32}, 10));
      check_plan(plan_supernet(*space, {.channels = 8, .partial = 4}, {3, 33, 32}, 10));
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("has no supernet"), std::string::npos) << name << ": " << error.what();
    }
  }
}

// What the issue names, and every other index and size.
TEST(PlanCheck, NamesWhatDoesNotFit) {
  struct Fault {
    const char* says;
    std::function<void(NetworkPlan&)> make;
  };
  const std::vector<Fault> faults = {
      {"no output", [](NetworkPlan& p) { p.cells[0].output.clear(); }},
      {"joins state 9", [](NetworkPlan& p) { p.cells[1].output.back() = 9; }},
      {"joins state -1", [](NetworkPlan& p) { p.cells[1].output.back() = -1; }},
      {"comes from state 7", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].from = 7; }},
      {"comes from state -1", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].from = -1; }},
      {"comes from state 3", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].from = 3; }},  // itself
      {"site 2000000", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].site = 2000000; }},
      {"site -2", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].site = -2; }},
      {"edge weights -5", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].edge = -5; }},
      {"no candidate",
       [](NetworkPlan& p) {
         p.cells[0].nodes[1].edges[0].candidates.clear();
         p.cells[0].nodes[1].edges[0].ops.clear();
       }},
      {"names for", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].ops.clear(); }},
      {"no edge", [](NetworkPlan& p) { p.cells[0].nodes[1].edges.clear(); }},
      {"1/3", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].partial = 3; }},
      {"1/0", [](NetworkPlan& p) { p.cells[0].nodes[1].edges[0].partial = 0; }},
      {"groups 0", [](NetworkPlan& p) { p.stems[0][0].groups = 0; }},
      {"2 groups", [](NetworkPlan& p) { p.stems[0][0].groups = 2; }},
      {"stride_h -1", [](NetworkPlan& p) { p.stems[0][0].stride_h = -1; }},
      {"kernel_w 0", [](NetworkPlan& p) { p.stems[0][0].kernel_w = 0; }},
      {"padding_h -3", [](NetworkPlan& p) { p.stems[0][0].padding_h = -3; }},
      {"out 2000000000", [](NetworkPlan& p) { p.stems[0][0].out = 2000000000; }},
      {"does not change the number of channels", [](NetworkPlan& p) { p.stems[0][1].out = 5; }},
      {"stage of kind 99", [](NetworkPlan& p) { p.stems[0][0].kind = static_cast<StageKind>(99); }},
      {"no stem", [](NetworkPlan& p) { p.stems.clear(); }},
      {"no cells", [](NetworkPlan& p) { p.cells.clear(); }},
      {"one input or two", [](NetworkPlan& p) { p.cells[0].preprocess.pop_back(); }},
      {"written down", [](NetworkPlan& p) { p.cells[0].input_shapes[0].height = 3; }},
      {"written down", [](NetworkPlan& p) { p.cells[0].output_shape.channels += 1; }},
      {"classes", [](NetworkPlan& p) { p.classes = 0; }},
      {"classes", [](NetworkPlan& p) { p.classes = 11; }},
      {"no image", [](NetworkPlan& p) { p.input.width = 0; }},
      {"auxiliary", [](NetworkPlan& p) { p.auxiliary_cell = 1; }},
      {"weights for", [](NetworkPlan& p) { p.cells[0].output_edges = {0}; }},
      {"or none",
       [](NetworkPlan& p) {
         p.cells[0].output_edges = {0, 1, 2, -1};
       }},
      {"shortcut", [](NetworkPlan& p) { p.cells[0].shortcut_edge = 1; }},
      {"adds", [](NetworkPlan& p) { p.cells[0].nodes[0].edges[0].candidates = {{stage::conv(4, 5, 1)}}; }},
  };
  for (const Fault& fault : faults) {
    NetworkPlan plan = network("darts-v2");
    fault.make(plan);
    const std::string text = error_of([&] { check_plan(plan); });
    EXPECT_NE(text.find(fault.says), std::string::npos) << fault.says << ": " << text;
  }
}

TEST(PlanCheck, SeesToAuxiliaryHeads) {
  NetworkPlan plan = network("darts-v2", {.channels = 4, .auxiliary = true});
  EXPECT_NO_THROW(check_plan(plan));
  plan.auxiliary_cell = 3;
  EXPECT_THROW(check_plan(plan), Error);
}

}  // namespace
}  // namespace nascent
