// Plans from files that are not what they were: every one is refused with an Error, or is a network that runs.
#include "nascent/train/plan_json.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/nn/network.h"
#include "nascent/train/model.h"
#include "nascent/train/state.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

NetworkPlan small_plan(const std::string& genotype) {
  const Genotype found = find_genotype(genotype);
  const auto space = find_space(found.space);
  const NetworkOptions options{.channels = 2, .cells = space->skeleton() == "darts" ? 3 : 1};
  return plan_network(*space, found, options, {2, 8, 8}, 3);
}

// Every value in the tree that holds no others.
void collect(Json& json, std::vector<Json*>& leaves) {
  if (json.is_structured() && !json.empty()) {
    for (auto& item : json) collect(item, leaves);
  } else {
    leaves.push_back(&json);
  }
}

Json other_value(const Json& before, RandomStream& random) {
  const auto pick = [&](int64_t count) { return static_cast<int64_t>(random.uniform() * static_cast<double>(count)); };
  if (before.is_boolean()) return !before.get<bool>();
  if (before.is_number() && pick(4) > 0) return before.get<int64_t>() + pick(7) - 3;
  const std::vector<Json> values = {
      -1, 0, 1, 2, 1 << 30, -(1 << 30), 2147483647, nullptr, "conv", "linear", Json::array(), Json::object(), 2.5};
  return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
}

TEST(PlanJson, MutatedPlansAreRefusedOrRun) {
  int refused = 0, ran = 0;
  for (const std::string genotype : {"darts-v2", "nasbench201:4321", "nasbench1shot1-s1:77"}) {
    const Json original = to_json(small_plan(genotype));
    for (uint64_t trial = 0; trial < 250; ++trial) {
      RandomStream random(trial, "mutations");
      Json json = original;
      std::vector<Json*> leaves;
      collect(json, leaves);
      Json& leaf = *leaves[static_cast<size_t>(random.uniform() * static_cast<double>(leaves.size()))];
      const std::string before = leaf.dump();
      leaf = other_value(leaf, random);
      SCOPED_TRACE(genotype + ": " + before + " became " + leaf.dump() + ", trial " + std::to_string(trial));
      try {
        const NetworkPlan plan = plan_from_json(json);
        if (count_parameters(plan) > 100000 || plan.input.count() > 10000) continue;
        Network network(plan, 1);
        network.eval();
        at::NoGradGuard no_grad;
        if (network.is_mixed()) continue;
        const at::Tensor images = at::ones({1, plan.input.channels, plan.input.height, plan.input.width});
        EXPECT_EQ(network.forward(images).logits.size(1), plan.classes);
        ++ran;
      } catch (const Error&) {
        ++refused;
      } catch (const Json::exception&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(ran, 20);
}

// With the checksum of a whole file: what the reader did.
TEST(Model, CraftedPlansAreRefused) {
  const toy::Folder folder;
  Model model;
  model.genotype = toy::genotype();
  model.network = toy::network();
  model.statistics = {{0.35}, {0.2}};
  save_model(model, folder.path() / "model");
  const State whole = load_state(folder.path() / "model");
  const auto load_with = [&](const std::function<void(Json & plan)>& change) {
    State state = whole;
    change(state.values["model"]["plan"]);
    save_state(state, folder.path() / "crafted");
    load_model(folder.path() / "crafted");
  };
  EXPECT_NO_THROW(load_with([](Json&) {}));
  EXPECT_THAT([&] { load_with([](Json& plan) { plan["cells"][0]["output"] = Json::array(); }); },
              ThrowsMessage<Error>(HasSubstr("no output")));
  EXPECT_THAT([&] { load_with([](Json& plan) { plan["cells"][0]["nodes"][0]["edges"][0]["site"] = 1 << 30; }); },
              ThrowsMessage<Error>(HasSubstr("site")));
  EXPECT_THAT([&] { load_with([](Json& plan) { plan["cells"][0]["nodes"][0]["edges"][0]["from"] = 50; }); },
              ThrowsMessage<Error>(HasSubstr("state 50")));
  EXPECT_THAT([&] { load_with([](Json& plan) { plan["stems"][0][0]["groups"] = 0; }); },
              ThrowsMessage<Error>(HasSubstr("groups 0")));
  EXPECT_THAT([&] { load_with([](Json& plan) { plan["stems"][0][0]["kind"] = "swirl"; }); },
              ThrowsMessage<Error>(HasSubstr("swirl")));
  EXPECT_THAT(
      [&] {
        load_with([](Json& plan) {
          for (auto* stage : {&plan["stems"][0][0]})
            (*stage)["kernel_h"] = (*stage)["kernel_w"] = 100001, (*stage)["padding_h"] = (*stage)["padding_w"] = 50000;
        });
      },
      ThrowsMessage<Error>(HasSubstr("weights")));
}

}  // namespace
}  // namespace nascent
