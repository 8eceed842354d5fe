#include "nascent/attack/victim.h"

#include <torch/csrc/jit/api/module.h>

#include "attack/samples.h"
#include "nascent/attack/victim_files.h"
#include "nascent/core/files.h"
#include "nascent/nn/engine.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::HasSubstr;

std::shared_ptr<Network> network(const std::string& space_name, const std::string& genotype, uint64_t seed = 3) {
  NetworkOptions options;
  options.channels = 4;
  options.cells = space_name == "darts" ? 3 : 1;
  const auto space = find_space(space_name);
  auto made = std::make_shared<Network>(plan_network(*space, find_genotype(genotype), options, {3, 12, 12}, 5), seed);
  // Statistics of norms as a training would leave them, so that evaluation is not the identity.
  RandomStream random(seed, "statistics");
  for (auto& item : made->named_buffers()) {
    float* values = item.value().data_ptr<float>();
    const bool variance = item.key().ends_with("running_var");
    for (int64_t i = 0; i < item.value().numel(); ++i)
      values[i] = static_cast<float>(variance ? random.uniform(0.5, 2) : random.uniform(-0.3, 0.3));
  }
  return made;
}

const ChannelStatistics kStatistics{{0.5, 0.45, 0.4}, {0.25, 0.2, 0.3}};

TEST(Victim, FusedAndPlainGradientsOfImagesAgree) {
  for (const auto& [space, genotype] : {std::pair("nasbench201", "nasbench201:4321"), std::pair("darts", "darts-v2")}) {
    const VictimPointer victim = network_victim(network(space, genotype), kStatistics, "net");
    const Attacked attacked = samples::images_of(*victim, {5, 3, 12, 12}, 4, 0, 1);
    const auto gradient = [&](Engine engine) {
      const EngineScope scope(engine);
      return victim->gradient(attacked.images, cross_entropy(attacked));
    };
    const auto fused = gradient(Engine::fused), plain = gradient(Engine::reference);
    EXPECT_TRUE(at::allclose(fused.logits, plain.logits, 1e-4, 1e-4)) << space;
    EXPECT_GT(plain.images.abs().max().item<double>(), 0) << space;
    const double scale = plain.images.abs().max().item<double>();
    EXPECT_LT((fused.images - plain.images).abs().max().item<double>(), 1e-3 * scale) << space;
  }
}

TEST(Victim, ParametersAndStatisticsAreLeftAlone) {
  const auto net = network("nasbench201", "nasbench201:4321");
  const VictimPointer victim = network_victim(net, kStatistics, "net");
  std::vector<at::Tensor> before;
  for (const at::Tensor& buffer : net->buffers()) before.push_back(buffer.clone());
  const Attacked attacked = samples::images_of(*victim, {5, 3, 12, 12}, 4);
  victim->gradient(attacked.images, cross_entropy(attacked));
  for (const at::Tensor& parameter : net->parameters()) {
    EXPECT_FALSE(parameter.requires_grad());
    EXPECT_FALSE(parameter.grad().defined());
  }
  const auto after = net->buffers();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i]));
}

TEST(Victim, AnEnsembleOfCopiesIsTheModel) {
  const VictimPointer one = network_victim(network("nasbench201", "nasbench201:4321"), kStatistics, "net");
  const VictimPointer three = ensemble_victim({one, one, one}, "three");
  const at::Tensor images = samples::uniform({4, 3, 12, 12}, 0, 1, 5);
  EXPECT_TRUE(at::allclose(three->logits(images), at::log_softmax(one->logits(images), 1), 1e-5, 1e-5));
}

TEST(Victim, AnEnsembleAnswersTheMeanProbability) {
  const VictimPointer a = network_victim(network("nasbench201", "nasbench201:4321", 1), kStatistics, "a");
  const VictimPointer b = network_victim(network("nasbench201", "nasbench201:99", 2), kStatistics, "b");
  const at::Tensor images = samples::uniform({4, 3, 12, 12}, 0, 1, 5);
  const at::Tensor mean = (at::softmax(a->logits(images), 1) + at::softmax(b->logits(images), 1)) / 2;
  EXPECT_TRUE(at::allclose(ensemble_victim({a, b}, "both")->logits(images).exp(), mean, 1e-5, 1e-6));
}

TEST(Victim, AnEnsembleAveragesAsItIsTold) {
  const VictimPointer a = std::make_shared<samples::BentVictim>(12, 4, 1);
  const VictimPointer b = std::make_shared<samples::BentVictim>(12, 4, 2);
  const at::Tensor images = samples::uniform({5, 3, 2, 2}, 0, 1, 5);
  const at::Tensor za = a->logits(images), zb = b->logits(images);
  const auto answers = [&](const Averaging& averaging) {
    return at::softmax(ensemble_victim({a, b}, "both", averaging)->logits(images), 1);
  };
  EXPECT_TRUE(at::allclose(answers({.weights = {3, 1}}), 0.75 * at::softmax(za, 1) + 0.25 * at::softmax(zb, 1)));
  EXPECT_TRUE(at::allclose(answers({.weights = {1, 0}}), at::softmax(za, 1)));
  EXPECT_TRUE(at::allclose(answers({.of_logits = true}), at::softmax((za + zb) / 2, 1)));
  EXPECT_TRUE(at::allclose(answers({.temperature = 2}), (at::softmax(za / 2, 1) + at::softmax(zb / 2, 1)) / 2));
}

// MC DropPath: the passes differ, each is a function of the images alone, and what the whole of them answers is their
// mean, through both engines; with nothing to drop it is the network to the bit.
TEST(Victim, PassesThatDropPathsAreMembersOfAnEnsemble) {
  const auto net = network("darts", "darts-v2");
  const VictimPointer plain = network_victim(net, kStatistics, "plain");
  const Attacked attacked = samples::images_of(*plain, {6, 3, 12, 12}, 4, 0, 1);
  const at::Tensor undropped = plain->logits(attacked.images);
  std::vector<VictimPointer> passes;
  at::Tensor mean = at::zeros_like(undropped);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    passes.push_back(network_victim(net, kStatistics, "pass", {.probability = 0.4, .seed = seed}));
    const at::Tensor once = passes.back()->logits(attacked.images);
    EXPECT_TRUE(once.equal(passes.back()->logits(attacked.images)));
    EXPECT_FALSE(at::allclose(once, undropped, 1e-2, 1e-2));
    mean += at::softmax(once, 1) / 3;
  }
  const VictimPointer whole = ensemble_victim(passes, "whole");
  EXPECT_TRUE(at::allclose(whole->logits(attacked.images).exp(), mean, 1e-4, 1e-5));
  const auto slope = [&](Engine engine) {
    const EngineScope scope(engine);
    return whole->gradient(attacked.images, cross_entropy(attacked)).images;
  };
  const at::Tensor fused = slope(Engine::fused), reference = slope(Engine::reference);
  const double scale = reference.abs().max().item<double>();
  EXPECT_GT(scale, 0);
  EXPECT_LT((fused - reference).abs().max().item<double>(), 1e-3 * scale);
  const VictimPointer still = network_victim(net, kStatistics, "still", {.probability = 0, .seed = 5});
  EXPECT_TRUE(still->logits(attacked.images).equal(undropped));
}

// What is dropped is the pass's, not an image's place in a batch: batches of 7 and of 64 are fooled alike.
TEST(Victim, DroppedPathsDoNotDependOnTheBatch) {
  const auto net = network("darts", "darts-v2");
  const VictimPointer victim = network_victim(net, kStatistics, "pass", {.probability = 0.4, .seed = 2});
  const int64_t count = 64;
  const Attacked all = samples::images_of(*victim, {count, 3, 12, 12}, 4, 0, 1);
  const at::Tensor whole = victim->logits(all.images);
  const Outcome together = samples::run("fgsm", *victim, all, {Norm::linf, 0.03});
  int64_t different = 0;
  for (int64_t start = 0; start < count; start += 7) {
    const int64_t end = std::min<int64_t>(start + 7, count);
    const Attacked batch = all.select(at::arange(start, end));
    EXPECT_TRUE(at::allclose(victim->logits(batch.images), whole.slice(0, start, end), 1e-3, 1e-4));
    const Outcome apart = samples::run("fgsm", *victim, batch, {Norm::linf, 0.03});
    different += (apart.fooled != together.fooled.slice(0, start, end)).sum().item<int64_t>();
  }
  EXPECT_LE(different, count / 100);
}

struct VictimFile : testing::Test {
  TemporaryFolder folder_;
};

// Files whose models are made up: what is read is what `read` says.
TEST_F(VictimFile, MembersThatSeeOtherImagesAreRefused) {
  write_file(folder_ / "small.nascent", "NASCENT, as far as the first bytes go");
  write_file(folder_ / "large.nascent", "NASCENT, as far as the first bytes go");
  const auto read = [](const std::filesystem::path& path) {
    Model model;
    model.eval_transforms = {"normalise"};
    if (path.stem() == "small") model.eval_transforms = {"resize 16", "normalise"};
    ModelFile file;
    file.members.push_back(std::move(model));
    return file;
  };
  DataOptions data;
  data.name = "random";
  const auto open = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back((folder_ / name).string());
    return VictimFiles(paths, {}, read);
  };
  EXPECT_THAT(
      error_of([&] {
        open({"large.nascent", "small.nascent"}).data(data);
      }),
      testing::AllOf(HasSubstr("small.nascent"), HasSubstr("'resize 16, normalise'"), HasSubstr("--eval-transforms")));
  EXPECT_NO_THROW(open({"small.nascent", "small.nascent"}).data(data));
  data.eval_transforms = {"resize 12", "normalise"};  // named for all of them
  EXPECT_NO_THROW(open({"large.nascent", "small.nascent"}).data(data));
}

TEST_F(VictimFile, RandomPassesCannotBeJoinedWithOthers) {
  write_file(folder_ / "drops.nascent", "NASCENT, as far as the first bytes go");
  const auto read = [](const std::filesystem::path&) {
    ModelFile file;
    file.members.emplace_back();
    file.random = {.passes = 3, .drop_path = 0.1};
    return file;
  };
  const std::string path = (folder_ / "drops.nascent").string();
  EXPECT_THAT(error_of([&] { VictimFiles({path, path}, {}, read); }), HasSubstr("random passes"));
  EXPECT_NO_THROW(VictimFiles({path}, {}, read));
}

TEST_F(VictimFile, ATorchScriptFileIsNormalisedAndDifferentiated) {
  torch::jit::Module script("net");
  const at::Tensor weights = samples::uniform({3, 12}, -1, 1, 3);
  script.register_parameter("weight", weights, false);
  script.define("def forward(self, x):\n    return torch.matmul(torch.flatten(x, 1), self.weight.t())\n");
  script.save((folder_ / "net.pt").string());
  const VictimPointer victim = script_victim(folder_ / "net.pt", kStatistics, {3, 2, 2}, "net");
  EXPECT_EQ(victim->classes(), 3);
  const Attacked attacked = samples::images_of(*victim, {4, 3, 2, 2}, 3);
  const at::Tensor normalised = (attacked.images - by_channel(kStatistics.mean)) / by_channel(kStatistics.deviation);
  EXPECT_TRUE(at::allclose(victim->logits(attacked.images), at::linear(normalised.flatten(1), weights), 1e-4, 1e-5));
  EXPECT_TRUE(samples::run("pgd", *victim, attacked, {Norm::linf, 0.3}).fooled.any().item<bool>());
}

TEST_F(VictimFile, WhatIsNoModelIsRefused) {
  write_file(folder_ / "text.pt", "hello, I am text");
  write_file(folder_ / "zip.pt", "PK\x03\x04 but broken");
  EXPECT_THAT(error_of([&] { VictimFiles({(folder_ / "text.pt").string()}, {}); }), HasSubstr("neither a model"));
  EXPECT_THAT(error_of([&] {
                script_victim(folder_ / "zip.pt", {}, {3, 2, 2}, "zip");
              }),
              HasSubstr("is not a TorchScript file"));
  EXPECT_THAT(error_of([&] { VictimFiles({(folder_ / "none.nascent").string()}, {}); }),
              HasSubstr("There is no model"));
  EXPECT_THAT(error_of([&] { VictimFiles({}, {}); }), HasSubstr("missing"));
}

TEST(PixelTransforms, KeepWhatComesBeforeNormalisation) {
  EXPECT_THAT(pixel_transforms({"resize 16", "normalise"}), testing::ElementsAre("resize 16", "normalise 0 1"));
  EXPECT_THAT(error_of([] { pixel_transforms({"normalise", "cutout 4"}); }), HasSubstr("cutout"));
  const ChannelStatistics own = normalisation({"normalise 0.5 0.2"}, kStatistics);
  EXPECT_EQ(own.mean, std::vector<double>{0.5});
  EXPECT_EQ(own.deviation, std::vector<double>{0.2});
  EXPECT_EQ(normalisation({"resize 16"}, kStatistics).mean, kStatistics.mean);
}

}  // namespace
}  // namespace nascent
