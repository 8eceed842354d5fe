#include "nascent/analysis/landscape.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "nascent/analysis/gradient_variance.h"
#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/space/space.h"
#include "nascent/train/loss.h"
#include "nascent/train/second_order.h"

namespace nascent {
namespace {

using testing::HasSubstr;

DataOptions small_data() {
  DataOptions data;
  data.name = "random";
  data.shape = {3, 8, 8};
  data.classes = 4;
  data.size = 48;
  data.batch = 16;
  return data;
}

std::shared_ptr<Network> small_network(uint64_t seed = 1) {
  NetworkOptions options{.channels = 4, .cells = 3};
  const Genotype genotype = find_genotype("darts-v2");
  auto network = std::make_shared<Network>(plan_network(*find_space("darts"), genotype, options, {3, 8, 8}, 4), seed);
  network->eval();
  return network;
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      fmt::format("nascent-landscape-{}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

void save(const std::shared_ptr<Network>& network, const std::filesystem::path& path) {
  Model model;
  model.genotype = find_genotype("darts-v2");
  model.input = {3, 8, 8};
  model.class_names = {"a", "b", "c", "d"};
  model.network = network;
  save_model(model, path);
}

TEST(Direction, FiltersHaveTheLengthOfTheWeights) {
  const auto network = small_network();
  const Direction direction = random_direction(*network, 1, 0);
  size_t i = 0, filters = 0;
  for (const auto& item : network->named_parameters()) {
    const at::Tensor& part = direction[i++];
    if (item.value().dim() <= 1) {
      EXPECT_EQ(part.abs().max().item<double>(), 0) << item.key();
      continue;
    }
    const auto norms = [](const at::Tensor& t) { return t.detach().reshape({t.size(0), -1}).norm(2, {1}); };
    EXPECT_TRUE(at::allclose(norms(part), norms(item.value()), 1e-4, 1e-7)) << item.key();
    ++filters;
  }
  EXPECT_GT(filters, 10u);
}

TEST(Direction, IsNamedByTheParameterAndNumber) {
  const auto network = small_network();
  const Direction a = random_direction(*network, 1, 0, false), b = random_direction(*network, 1, 1, false);
  EXPECT_FALSE(at::equal(a[0], b[0]));
  EXPECT_TRUE(at::equal(a[0], random_direction(*small_network(7), 1, 0, false)[0]));
}

TEST(WeightPlane, PutsWeightsBackToTheBit) {
  const auto network = small_network();
  const Weights before = copy_of(weights_of(*network));
  {
    WeightPlane plane(*network);
    const Direction direction = random_direction(*network, 1, 0);
    plane.move({&direction}, {0.3});
    plane.move({&direction}, {0});
    for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i].second, weights_of(*network)[i].second));
    plane.move({&direction}, {-0.5});
  }
  for (size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i].second, weights_of(*network)[i].second));
}

TEST(Landscape, TheCentreIsWhatEvaluateSaysToTheBit) {
  const ImageData data(small_data(), 0);
  const auto network = small_network();
  const auto loader = data.testing();
  const Evaluation expected = evaluate(*network, *loader);
  const ImageBatches batches = load_batches(*loader, *network);
  EXPECT_EQ(evaluate_batches(*network, batches).loss, expected.loss);
  Folder folder;
  save(network, folder.path / "model");
  LandscapeJob job({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), {.points = 3, .range = 0.5},
                   1);
  run_job(job, {});
  EXPECT_EQ(job.grid(0, 0).centre(), expected.loss);
  EXPECT_NE(job.grid(0, 0).loss[0], expected.loss);
}

TEST(Landscape, AResumedGridIsTheSameFile) {
  const ImageData data(small_data(), 0);
  Folder folder;
  save(small_network(), folder.path / "model");
  const ImageBatches batches = load_batches(*data.testing(), *small_network(), 16);
  const LandscapeOptions options{.points = 3, .directions = 2};
  LandscapeJob whole({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), options, 1);
  run_job(whole, {});
  CheckpointStore store(folder.path / "checkpoints");
  for (int part = 0; part < 3; ++part) {
    LandscapeJob stopped({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), options, 1);
    try {
      run_job(stopped,
              {.checkpoints = &store, .resume = part > 0, .checkpoint_steps = 1, .stop_after_steps = part < 2 ? 6 : 0});
    } catch (const std::exception&) {
    }
    if (part == 2) {
      EXPECT_EQ(grid_csv(stopped.grid(0, 1)), grid_csv(whole.grid(0, 1)));
    }
  }
}

TEST(Landscape, ARefinedGridKeepsWhatItHas) {
  const ImageData data(small_data(), 0);
  Folder folder;
  save(small_network(), folder.path / "model");
  const ImageBatches batches = load_batches(*data.testing(), *small_network(), 16);
  LandscapeJob coarse({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), {.points = 3}, 1);
  run_job(coarse, {});
  LandscapeJob::Known known;
  add_known(known, "a", 0, grid_csv(coarse.grid(0, 0)), "grid");
  EXPECT_EQ(known.size(), 9u);
  known[{"a", 0, -1.0, -1.0}] = {123, 4};  // shows that it is taken, not computed
  LandscapeJob fine({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), {.points = 5}, 1, known);
  run_job(fine, {});
  EXPECT_EQ(fine.grid(0, 0).loss[0], 123);
  EXPECT_EQ(fine.grid(0, 0).loss[4], coarse.grid(0, 0).loss[2]);
}

TEST(Landscape, ScalingAConvolutionBeforeANormChangesNothing) {
  const ImageData data(small_data(), 0);
  const auto network = small_network(), scaled = small_network();
  {
    at::NoGradGuard no_grad;
    at::Tensor weight, mean, variance;
    for (const auto& item : scaled->named_parameters()) {
      if (item.key() == "stem0.0.weight") weight = item.value();
    }
    for (const auto& item : scaled->named_buffers()) {
      if (item.key() == "stem0.1.running_mean") mean = item.value();
      if (item.key() == "stem0.1.running_var") variance = item.value();
    }
    ASSERT_TRUE(weight.defined() && mean.defined() && variance.defined());
    weight.mul_(10);
    mean.mul_(10);
    variance.mul_(100);
  }
  const ImageBatches batches = load_batches(*data.testing(), *network);
  const auto loss = [&](Network& of) {
    WeightPlane plane(of);
    const Direction first = random_direction(of, 1, 0), second = random_direction(of, 1, 1);
    plane.move({&first, &second}, {0.3, -0.2});
    return evaluate_batches(of, batches).loss;
  };
  EXPECT_NEAR(loss(*scaled), loss(*network), 1e-3 * std::abs(loss(*network)));
}

// A paraboloid by hand: its flat share, its radius, and its steepness.
TEST(Landscape, NumbersOfAParaboloid) {
  LossGrid grid{.places = LandscapeOptions{.points = 51}.places()};
  for (double beta : grid.places) {
    for (double alpha : grid.places) {
      grid.loss.push_back(2 + 4 * (alpha * alpha + beta * beta));
      grid.top1.push_back(50);
    }
  }
  const LandscapeNumbers numbers = numbers_of(grid);
  EXPECT_DOUBLE_EQ(numbers.centre, 2);
  EXPECT_NEAR(numbers.flat_share, M_PI * 0.25 / 4, 0.02);  // a circle of radius 1/2 in a square of side 2
  EXPECT_NEAR(numbers.convex_radius, 1, 0.05);
  EXPECT_NEAR(numbers.steepness, 2, 0.02);
  EXPECT_EQ(numbers.holes, 0);
  grid.loss[0] = NAN;
  EXPECT_EQ(numbers_of(grid).holes, 1);
  EXPECT_THAT(grid_vtk(grid, "t"), HasSubstr("DIMENSIONS 51 51 1"));
}

TEST(Landscape, RecalibratedNormsHoldTheStatisticsOfTheImages) {
  const ImageData data(small_data(), 0);
  const auto network = small_network();
  const ImageBatches batches = load_batches(*data.testing(), *network, 16);
  ASSERT_EQ(batches.size(), 1u);
  recalibrate(*network, batches);
  // With one batch, evaluation with its statistics is what training mode computes, up to n / (n - 1) in the variance.
  const double batch = evaluate_batches(*network, batches, Norms::batch).loss;
  EXPECT_NEAR(evaluate_batches(*network, batches).loss, batch, 0.05 * batch);
}

TEST(Landscape, ImpossibleGridsAreRefused) {
  EXPECT_THAT([] { LandscapeOptions{.points = 0}.check(); },
              testing::ThrowsMessage<Error>(HasSubstr("at least 2 points")));
  EXPECT_THAT([] { LandscapeOptions{.range = 0}.check(); },
              testing::ThrowsMessage<Error>(HasSubstr("needs an extent")));
}

TEST(Landscape, ANonFiniteCentreIsAnError) {
  const auto network = small_network();
  {
    at::NoGradGuard no_grad;
    network->parameters()[0].fill_(NAN);
  }
  Folder folder;
  save(network, folder.path / "model");
  const ImageData data(small_data(), 0);
  LandscapeJob job({{"broken", folder.path / "model"}},
                   loss_measure(load_batches(*data.testing(), *network), {}, "running"), {.points = 3}, 1);
  EXPECT_THAT([&] { run_job(job, {}); },
              testing::ThrowsMessage<Error>(HasSubstr("broken: what is measured at the centre")));
}

// The mean of all images' gradients, and E|g_i|^2 less its square, by hand.
TEST(GradientVariance, EqualsItsDefinition) {
  for (const std::string name : {"darts-v2", "nasbench201:1462"}) {
    const Genotype genotype = find_genotype(name);
    Network network(plan_network(*find_space(genotype.space), genotype,
                                 {.channels = 4, .cells = name == "darts-v2" ? 3 : 1}, {3, 8, 8}, 4),
                    1);
    network.to(at::kDouble);
    network.eval();
    ImageBatches batches = load_batches(*ImageData(small_data(), 0).testing(), network, 6);
    batches[0].images = batches[0].images.to(at::kDouble);
    double squares = 0;
    at::Tensor mean;
    for (int64_t i = 0; i < 6; ++i) {
      const at::Tensor loss = classification_loss(network.forward(batches[0].images.narrow(0, i, 1)).logits,
                                                  batches[0].labels.narrow(0, i, 1));
      Tensors flat;
      for (const at::Tensor& gradient : dense_gradients(loss, network.parameters()))
        flat.push_back(gradient.reshape({-1}));
      const at::Tensor row = at::cat(flat);
      squares += row.square().sum().item<double>() / 6;
      mean = mean.defined() ? mean + row / 6 : row / 6;
    }
    const double expected = squares - mean.square().sum().item<double>();
    const GradientVariance found = gradient_variance(network, batches);
    EXPECT_NEAR(found.variance, expected, 1e-10 * squares) << name;
    EXPECT_NEAR(found.mean_square, mean.square().sum().item<double>(), 1e-10 * squares) << name;
    double layers = 0;
    for (const auto& [layer, variance] : found.layers) layers += variance;
    EXPECT_NEAR(layers, found.variance, 1e-10 * squares);
    // Copies of one image do not vary.
    const ImageBatches copies = {
        {batches[0].images.narrow(0, 0, 1).repeat({3, 1, 1, 1}), batches[0].labels.narrow(0, 0, 1).repeat({3})}};
    EXPECT_NEAR(gradient_variance(network, copies).variance, 0, 1e-12 * squares);
  }
}

}  // namespace
}  // namespace nascent
