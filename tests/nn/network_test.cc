#include "nascent/nn/network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/nn/threads.h"
#include "nn/multiply_adds.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using testing_nn::MultiplyAddCounter;
using testing_nn::sample_images;

NetworkPlan plan_of(const std::string& genotype_name, const NetworkOptions& options, const Shape& input = {3, 32, 32},
                    int classes = 10) {
  const Genotype genotype = find_genotype(genotype_name);
  return plan_network(*find_space(genotype.space), genotype, options, input, classes);
}

int64_t built_parameters(const Network& network, bool with_auxiliary = false) {
  int64_t sum = 0;
  for (const auto& item : network.named_parameters()) {
    if (with_auxiliary || !item.key().starts_with("auxiliary.")) sum += item.value().numel();
  }
  return sum;
}

NetworkOptions small(int cells = 3, int channels = 4) {
  NetworkOptions options;
  options.cells = cells;
  options.channels = channels;
  return options;
}

void expect_as_planned(const NetworkPlan& plan) {
  Network network(plan, 1);
  EXPECT_EQ(built_parameters(network), count_parameters(plan));
  EXPECT_EQ(built_parameters(network, true), count_parameters(plan, true));
  network.eval();
  at::NoGradGuard no_grad;
  MultiplyAddCounter counter;
  const at::Tensor logits = network.forward(sample_images(plan.input, 2)).logits;
  EXPECT_EQ(counter.total(), 2 * count_multiply_adds(plan));
  EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, plan.classes}));
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
}

TEST(Network, HasThePublishedNumberOfParameters) {
  const std::map<std::string, double> published = {
      {"darts-v2", 3.35}, {"enas", 3.86}, {"nasnet", 3.83}, {"amoebanet", 3.15}};
  for (const auto& [name, millions] : published) {
    const NetworkPlan plan = plan_of(name, {});
    const int64_t built = built_parameters(Network(plan, 1));
    EXPECT_NEAR(built / 1e6, millions, 0.006) << name;
    EXPECT_EQ(built, count_parameters(plan)) << name;
  }
}

TEST(Network, OfEveryShippedGenotypeIsAsPlanned) {
  for (const std::string& name : known_genotypes()) {
    SCOPED_TRACE(name);
    expect_as_planned(plan_of(name, small(), {3, 16, 16}));
  }
}

TEST(Network, OfSampledNasBench201CellsIsAsPlanned) {
  const auto space = find_space("nasbench201");
  for (int i = 0; i < 300; ++i) {
    RandomStream random(11, "test", {static_cast<uint64_t>(i)});
    const NetworkPlan plan = plan_network(*space, space->sample(random), {}, {3, 32, 32}, 10);
    ASSERT_EQ(built_parameters(Network(plan, 1)), count_parameters(plan));
    if (i < 10) expect_as_planned(plan);
  }
}

TEST(Network, TakesImagesOfAnyShape) {
  for (const Shape& shape : {Shape{1, 28, 28}, Shape{3, 24, 40}, Shape{3, 31, 29}, Shape{2, 9, 17}}) {
    SCOPED_TRACE(fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width));
    expect_as_planned(plan_of("darts-v2", small(), shape, 7));
    NetworkOptions two = small(2);
    const auto space = find_space("nasbench201");
    RandomStream random(1, "test");
    expect_as_planned(plan_network(*space, space->sample(random), two, shape, 7));
    const auto one_shot = find_space("nasbench1shot1-s1");
    expect_as_planned(plan_network(*one_shot, one_shot->sample(random), small(1, 12), shape, 7));
  }
}

TEST(Network, ForImageNetIsAsPlanned) {
  NetworkOptions options;
  options.skeleton = "darts-imagenet";
  options.auxiliary = true;
  const NetworkPlan plan = plan_of("darts-v2", options, {3, 224, 224}, 1000);
  EXPECT_NEAR(count_parameters(plan) / 1e6, 4.7, 0.1);  // as published: 4.7 M
  expect_as_planned(plan);
}

TEST(Network, UsesItsAuxiliaryHeadInTrainingOnly) {
  NetworkOptions options = small(6);
  options.auxiliary = true;
  Network network(plan_of("darts-v2", options), 1);
  const at::Tensor images = sample_images({3, 32, 32}, 3);
  const NetworkOutput output = network.forward(images);
  ASSERT_TRUE(output.auxiliary.defined());
  EXPECT_EQ(output.auxiliary.sizes(), at::IntArrayRef({3, 10}));
  output.auxiliary.sum().backward();
  const auto parameters = network.named_parameters();
  EXPECT_TRUE(parameters["auxiliary.8.weight"].grad().defined());
  EXPECT_TRUE(parameters["stem0.0.weight"].grad().defined());
  EXPECT_FALSE(parameters["head.1.weight"].grad().defined());
  network.eval();
  EXPECT_FALSE(network.forward(images).auxiliary.defined());
}

TEST(Network, NamesItsWeightsAfterTheGraph) {
  Network network(plan_of("darts-v2", small()), 1);
  const auto parameters = network.named_parameters();
  for (const char* name :
       {"stem0.0.weight", "stem0.1.bias", "cell0.pre0.1.weight", "cell0.node2.from0.sep_conv_3x3.1.weight",
        "cell0.node5.from2.dil_conv_3x3.3.bias", "head.1.weight"}) {
    EXPECT_TRUE(parameters.contains(name)) << name;
  }
  EXPECT_TRUE(network.named_buffers().contains("cell0.node2.from0.sep_conv_3x3.3.running_mean"));
}

std::vector<at::Tensor> gradients(uint64_t seed) {
  Network network(plan_of("darts-v2", small(3, 16), {3, 16, 16}), seed);
  const at::Tensor logits = network.forward(sample_images({3, 16, 16}, 4), {.drop_path = 0.2, .seed = seed}).logits;
  at::log_softmax(logits, 1).select(1, 0).mean().neg().backward();
  std::vector<at::Tensor> all = {logits.detach()};
  for (const at::Tensor& parameter : network.parameters()) {
    if (parameter.grad().defined()) all.push_back(parameter.grad());
  }
  return all;
}

TEST(Network, GivesTheSameBytesTwice) {
  for (const int threads : {1, 2}) {
    use_threads(threads);
    const auto once = gradients(3), again = gradients(3), other = gradients(4);
    ASSERT_EQ(once.size(), again.size());
    for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(at::equal(once[i], again[i])) << i;
    EXPECT_FALSE(at::equal(once[0], other[0]));
  }
  use_threads(1);
}

TEST(Network, DoesNotDependOnTheMemoryFormatOfImages) {
  Network network(plan_of("darts-v2", small(3, 16)), 1);
  network.eval();
  at::NoGradGuard no_grad;
  const at::Tensor images = sample_images({3, 32, 32}, 4);
  EXPECT_TRUE(at::equal(network.forward(images).logits, network.forward(images.contiguous()).logits));
}

TEST(Network, DropsPathsInTrainingOnly) {
  Network network(plan_of("darts-v2", small()), 1);
  at::NoGradGuard no_grad;
  const at::Tensor images = sample_images({3, 32, 32}, 4);
  const auto run = [&](double drop, int64_t step) {
    return network.forward(images, {.drop_path = drop, .seed = 1, .step = step}).logits;
  };
  EXPECT_FALSE(at::equal(run(0.3, 1), run(0.3, 2)));
  EXPECT_TRUE(at::equal(run(0.3, 1), run(0.3, 1)));
  EXPECT_THROW(run(1, 1), Error);
  network.eval();
  EXPECT_TRUE(at::equal(run(0.3, 1), run(0, 2)));
}

TEST(Network, SaysWhatImagesItWants) {
  Network network(plan_of("darts-v2", small()), 1);
  EXPECT_THROW(network.forward(sample_images({3, 28, 28}, 2)), Error);
  EXPECT_THROW(network.forward(at::zeros({3, 32, 32})), Error);
}

}  // namespace
}  // namespace nascent
