#include "nascent/train/model.h"

#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/model_data.h"
#include "nascent/train/plan_json.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Model example() {
  Model model;
  model.genotype = toy::genotype();
  model.network_options.channels = 4;
  model.network_options.cells = 1;
  model.network_options.drop_path = 0.2;
  model.input = {1, toy::kSide, toy::kSide};
  model.class_names = {"left", "right", "none"};
  model.eval_transforms = {"normalise"};
  model.statistics = {{0.35}, {0.2}};
  model.data.name = "idx";
  model.data.path = "/data/sides";
  model.data_seed = 5;
  model.results = {{"top1", 97.5}};
  model.network = toy::network();
  return model;
}

TEST(Model, ScoresAfterLoadingAsBefore) {
  const toy::Folder folder;
  const auto path = folder.path() / "best.nascent";
  const Model model = example();
  save_model(model, path);
  const Model back = load_model(path);
  EXPECT_EQ(back.genotype, model.genotype);
  EXPECT_EQ(back.network_options.channels, 4);
  EXPECT_EQ(back.network_options.drop_path, 0.2);
  EXPECT_EQ(back.input, model.input);
  EXPECT_EQ(back.class_names, model.class_names);
  EXPECT_EQ(back.eval_transforms, model.eval_transforms);
  EXPECT_EQ(back.statistics.deviation, model.statistics.deviation);
  EXPECT_EQ(back.results, model.results);
  EXPECT_EQ(back.data.name, "idx");
  EXPECT_EQ(back.data.path, "/data/sides");
  EXPECT_EQ(back.data_seed, 5U);
  EXPECT_FALSE(back.network->is_training());
  const auto valid = toy::loader(toy::dataset(31, 1), 16, false);
  EXPECT_EQ(evaluate(*back.network, *valid).to_json(), evaluate(*model.network, *valid).to_json());
}

TEST(PlanJson, KeepsPartialChannels) {
  for (const std::string name : {"darts", "nasbench1shot1-s1"}) {
    const NetworkPlan plan = plan_supernet(*find_space(name), {.channels = 8, .partial = 4}, {3, 8, 8}, 10);
    const Json json = to_json(plan);
    const NetworkPlan back = plan_from_json(json);
    EXPECT_EQ(to_json(back), json);
    EXPECT_EQ(back.cells.back().nodes[0].partial, plan.cells.back().nodes[0].partial);
    EXPECT_EQ(back.cells[2].nodes[0].edges[0].partial, plan.cells[2].nodes[0].edges[0].partial);
    EXPECT_EQ(back.cells[2].nodes[0].edges[0].bypass, plan.cells[2].nodes[0].edges[0].bypass);
    EXPECT_EQ(count_multiply_adds(back), count_multiply_adds(plan));
  }
}

TEST(Model, FilesThatDoNotKeepTheirDataAreStillRead) {
  const toy::Folder folder;
  save_model(example(), folder.path() / "new");
  State state = load_state(folder.path() / "new");
  state.values["model"]["version"] = 1;
  state.values["model"].erase("data");
  save_state(state, folder.path() / "old");
  const Model old = load_model(folder.path() / "old");
  EXPECT_EQ(old.data.name, "");
  EXPECT_THAT([&] { data_of(old, unknown_data()); }, ThrowsMessage<Error>(HasSubstr("--data")));
  DataOptions asked;
  EXPECT_EQ(data_of(old, asked).name, asked.name);
  state.values["model"]["version"] = 3;
  save_state(state, folder.path() / "newer");
  EXPECT_THAT([&] { load_model(folder.path() / "newer"); }, ThrowsMessage<Error>(HasSubstr("versions 1 to 2")));
}

TEST(ModelData, IsTheModelsOwnUnlessOtherIsAskedFor) {
  const Model model = example();
  DataOptions asked = unknown_data();
  EXPECT_EQ(data_of(model, asked).name, "idx");
  EXPECT_EQ(data_of(model, asked).path, "/data/sides");
  EXPECT_EQ(data_of(model, asked).eval_transforms, model.eval_transforms);
  asked.path = "/elsewhere";
  EXPECT_EQ(data_of(model, asked).path, "/elsewhere");
  asked.name = "mnist";
  asked.path.clear();
  EXPECT_EQ(data_of(model, asked).path, "") << "a path belongs to its data set";
}

TEST(Model, OfARunFolder) {
  const toy::Folder folder;
  EXPECT_THAT([&] { load_model(folder.path()); }, ThrowsMessage<Error>(HasSubstr("model.nascent")));
  save_model(example(), folder.path() / "model.nascent");
  EXPECT_EQ(load_model(folder.path()).class_names, example().class_names);
}

TEST(Model, SameModelGivesSameBytes) {
  const toy::Folder folder;
  save_model(example(), folder.path() / "a");
  save_model(load_model(folder.path() / "a"), folder.path() / "b");
  EXPECT_TRUE(read_file(folder.path() / "a") == read_file(folder.path() / "b"));
}

// A space that only a TOML file defined is gone when the model is loaded elsewhere.
TEST(Model, LoadsWithoutItsSpace) {
  const toy::Folder folder;
  Model model = example();
  model.genotype.space = "my-space";
  NetworkPlan plan = model.network->plan();
  plan.space = "my-space";
  model.network = std::make_shared<Network>(std::move(plan), 9);
  save_model(model, folder.path() / "a");
  EXPECT_EQ(load_model(folder.path() / "a").genotype.space, "my-space");
}

TEST(Model, CheckpointsAndRubbishAreRefused) {
  const toy::Folder folder;
  State state;
  state.values["loop"] = 1;
  save_state(state, folder.path() / "checkpoint-1.nascent");
  EXPECT_THAT([&] { load_model(folder.path() / "checkpoint-1.nascent"); },
              ThrowsMessage<Error>(HasSubstr("is a checkpoint, not a model")));
  state.values["model"] = {{"version", 1}};
  save_state(state, folder.path() / "half");
  EXPECT_THAT([&] { load_model(folder.path() / "half"); }, ThrowsMessage<Error>(HasSubstr("half")));
  EXPECT_THROW(load_model(folder.path() / "missing"), Error);
}

TEST(PlanJson, ComesBackForEverySpace) {
  RandomStream random(1, "plans");
  for (const auto& name : Space::Registry::instance().names()) {
    const auto space = find_space(name);
    NetworkOptions options;
    options.channels = 8;
    const auto plan = plan_network(*space, space->sample(random), options, {3, 32, 32}, 10);
    const NetworkPlan back = plan_from_json(to_json(plan));
    EXPECT_EQ(to_json(back), to_json(plan)) << name;
    EXPECT_EQ(count_parameters(back), count_parameters(plan)) << name;
    EXPECT_EQ(count_multiply_adds(back), count_multiply_adds(plan)) << name;
  }
}

}  // namespace
}  // namespace nascent
