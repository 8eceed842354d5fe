#include "nascent/ensemble/ensemble_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "nascent/core/error.h"
#include "nascent/ensemble/soup.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

Model small_model(uint64_t seed, int classes = 3, int side = 8) {
  Model model;
  model.genotype =
      parse_genotype("|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|avg_pool_3x3~2|");
  const NetworkOptions options{.channels = 4, .cells = 1};
  model.network_options = options;
  model.input = {1, side, side};
  for (int i = 0; i < classes; ++i) model.class_names.push_back("class " + std::to_string(i));
  model.statistics = {{0.5}, {0.2}};
  model.network = std::make_shared<Network>(
      plan_network(*find_space("nasbench201"), model.genotype, options, model.input, classes), seed);
  model.network->eval();
  return model;
}

at::Tensor answer(const Model& model) {
  at::NoGradGuard no_grad;
  return model.network->forward(at::ones({2, 1, 8, 8})).logits;
}

TEST(EnsembleModel, ComesBackFromItsFile) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("nascent-ensemble-{}", ::getpid());
  std::filesystem::create_directories(folder);
  EnsembleModel model;
  model.members = {small_model(1), small_model(2)};
  model.weights = {0.25, 0.75};
  model.combine = Combination::logits;
  model.passes = 3;
  model.drop_path = 0.1;
  save_ensemble(model, folder / "ensemble.nascent");
  const EnsembleModel read = load_ensemble(folder / "ensemble.nascent");
  ASSERT_EQ(read.members.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::equal(answer(read.members[i]), answer(model.members[i])));
  EXPECT_EQ(read.weights, model.weights);
  EXPECT_EQ(read.combine, Combination::logits);
  EXPECT_EQ(read.passes, 3);
  EXPECT_EQ(read.drop_path, 0.1);
  EXPECT_TRUE(is_ensemble(folder / "ensemble.nascent"));

  // A model alone is an ensemble of one, and a list of files makes one.
  save_model(model.members[0], folder / "model.nascent");
  EXPECT_FALSE(is_ensemble(folder / "model.nascent"));
  EXPECT_EQ(load_ensemble(folder / "model.nascent").members.size(), 1u);
  const std::string file = (folder / "model.nascent").string();
  EXPECT_EQ(gather_ensemble({file, file, file}).members.size(), 3u);
  EXPECT_EQ(gather_ensemble({file, file}).parameters(), 2 * load_ensemble(file).parameters());
  EXPECT_THROW(load_ensemble(folder / "nowhere.nascent"), Error);
  std::filesystem::remove_all(folder);
}

TEST(EnsembleModel, RefusesMembersThatDoNotBelongTogether) {
  EnsembleModel model;
  EXPECT_THROW(check_ensemble(model), Error);
  model.members = {small_model(1), small_model(2, 4)};
  EXPECT_THAT([&] { check_ensemble(model); }, testing::ThrowsMessage<Error>(testing::HasSubstr("the same classes")));
  model.members = {small_model(1), small_model(2, 3, 16)};
  EXPECT_THAT([&] { check_ensemble(model); }, testing::ThrowsMessage<Error>(testing::HasSubstr("1 x 16 x 16")));
}

TEST(Soup, AveragesSnapshotsWhileItHelps) {
  std::vector<Model> snapshots = {small_model(1), small_model(2), small_model(3)};
  for (Model& snapshot : snapshots) snapshot.results["training"] = "one";
  // The closer to the mean of the first two, the better.
  const at::Tensor goal = (snapshots[0].network->parameters()[0] + snapshots[1].network->parameters()[0]).detach() / 2;
  const auto closeness = [&](const Model& model) {
    return -(model.network->parameters()[0].detach() - goal).norm().item<double>();
  };
  const Soup soup = greedy_soup(snapshots, closeness);
  EXPECT_THAT(soup.ingredients, testing::UnorderedElementsAre(0, 1));
  EXPECT_NEAR(soup.accuracy, 0, 1e-6);
  EXPECT_TRUE(at::allclose(soup.model.network->parameters()[0], goal));
}

// Averages are settled before they are judged; what is one snapshot's own is left as it is.
TEST(Soup, SettlesAverages) {
  std::vector<Model> snapshots = {small_model(1), small_model(2), small_model(3)};
  for (Model& snapshot : snapshots) snapshot.results["training"] = "one";
  int settled = 0;
  const auto soup = greedy_soup(
      snapshots, [&](const Model&) { return static_cast<double>(settled); }, [&](Model&) { ++settled; });
  EXPECT_EQ(settled, 2);
  EXPECT_EQ(soup.ingredients.size(), 3u);
}

TEST(Soup, RefusesDifferentTrainings) {
  std::vector<Model> models = {small_model(1), small_model(2)};
  models[0].results["training"] = "one";
  models[1].results["training"] = "another";
  const auto constant = [](const Model&) { return 0.0; };
  EXPECT_THAT([&] { greedy_soup(models, constant); }, testing::ThrowsMessage<Error>(testing::HasSubstr("valleys")));
  models[1].results.erase("training");
  EXPECT_THROW(greedy_soup(models, constant), Error);
}

}  // namespace
}  // namespace nascent
