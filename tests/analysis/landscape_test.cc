#include "nascent/analysis/landscape.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "nascent/analysis/gradient_variance.h"
#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/space/cell_plan.h"
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
  known[{"a", 0, in_billionths(-1), in_billionths(-1)}] = {123, 4};  // shows that it is taken, not computed
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

// One linear layer and a squared loss: the loss is a quadratic function of the weights, so of (alpha, beta).
TEST(Landscape, OfALinearNetworkWithSquaredLossIsTheExactParaboloid) {
  NetworkPlan plan{.space = "darts", .skeleton = "darts", .input = {3, 8, 8}, .classes = 4};
  plan.stems = {{stage::avg_pool(3, 3, 1, 1)}};
  plan.cells = {plan_fixed_block(plan.input, {{stage::avg_pool(3, 3, 1, 1)}}, false)};
  plan.head = {stage::global_avg_pool(3), stage::linear(3, 4)};
  const auto network = std::make_shared<Network>(plan, 3);
  network->eval();
  Folder folder;
  save(network, folder.path / "model");
  const ImageData data(small_data(), 0);
  const ImageBatches batches = load_batches(*data.testing(), *network, 16);
  const PointMeasure squared = [&](Network& moved) {
    at::NoGradGuard no_grad;
    const at::Tensor target = at::one_hot(batches[0].labels, 4);
    return std::pair((moved.forward(batches[0].images).logits - target).square().mean().item<double>(), 0.0);
  };
  LandscapeJob job({{"a", folder.path / "model"}}, squared, {.points = 5}, 1);
  run_job(job, {});
  const LossGrid grid = job.grid(0, 0);
  const auto at = [&](int i, int j) { return grid.loss[(j + 2) * 5 + i + 2]; };
  // Six numbers settle a quadratic; all others must follow.
  const double c = at(0, 0), gx = (at(1, 0) - at(-1, 0)) / 2, gy = (at(0, 1) - at(0, -1)) / 2;
  const double hx = at(1, 0) - 2 * c + at(-1, 0), hy = at(0, 1) - 2 * c + at(0, -1);
  const double hxy = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4;
  EXPECT_GT(hx, 0);
  for (int j = -2; j <= 2; ++j) {
    for (int i = -2; i <= 2; ++i) {
      EXPECT_NEAR(at(i, j), c + gx * i + gy * j + hx * i * i / 2 + hy * j * j / 2 + hxy * i * j, 1e-5 * c);
    }
  }
}

// An even number of points has no point at the centre, which is measured all the same.
TEST(Landscape, TheCentreNeedNotBeAPointOfTheGrid) {
  const ImageData data(small_data(), 0);
  const auto network = small_network();
  const ImageBatches batches = load_batches(*data.testing(), *network);
  Folder folder;
  save(network, folder.path / "model");
  LandscapeJob job({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), {.points = 2}, 1);
  run_job(job, {});
  EXPECT_EQ(numbers_of(job.grid(0, 0)).centre, evaluate_batches(*network, batches).loss);
}

TEST(Landscape, AGridOfOtherWeightsIsNotRefined) {
  const ImageData data(small_data(), 0);
  Folder folder;
  save(small_network(), folder.path / "model");
  const ImageBatches batches = load_batches(*data.testing(), *small_network(), 16);
  LandscapeJob::Known known;
  add_known(known, "a", 0, "alpha,beta,loss,top1\n0,0,77,1\n1,1,nan,0\n", "grid");
  EXPECT_EQ(known.size(), 1u);
  LandscapeJob job({{"a", folder.path / "model"}}, loss_measure(batches, {}, "running"), {.points = 3}, 1, known);
  EXPECT_THAT([&] { run_job(job, {}); }, testing::ThrowsMessage<Error>(HasSubstr("the grid to refine has 77")));
  EXPECT_THAT([&] { add_known(known, "a", 0, "alpha,beta,loss,top1\n0,0,x,1\n", "grid"); },
              testing::ThrowsMessage<Error>(HasSubstr("'x' where a number was expected")));
}

LossGrid paraboloid(int points) {
  LossGrid grid{.places = LandscapeOptions{.points = points}.places()};
  for (double beta : grid.places) {
    for (double alpha : grid.places) {
      grid.loss.push_back(2 + 4 * (alpha * alpha + beta * beta));
      grid.top1.push_back(50);
    }
  }
  return grid;
}

// Its flat share, its radius, and its steepness by hand.
TEST(Landscape, NumbersOfAParaboloid) {
  LossGrid grid = paraboloid(51);
  const LandscapeNumbers numbers = numbers_of(grid);
  EXPECT_NEAR(numbers.centre, 2, 1e-12);
  EXPECT_NEAR(numbers.flat_share, M_PI * 0.25 / 4, 0.02);  // a circle of radius 1/2 in a square of side 2
  EXPECT_NEAR(numbers.convex_radius, 1, 1e-6);
  EXPECT_NEAR(numbers.steepness, 2, 0.02);
  EXPECT_EQ(numbers.holes, 0);
  grid.loss[0] = NAN;
  EXPECT_EQ(numbers_of(grid).holes, 1);
  EXPECT_THAT(grid_vtk(grid, "t"), HasSubstr("DIMENSIONS 51 51 1"));
}

// Steps added up once fell short of the edge by rounding: 0.857 at 15 points, 0.96 at 51.
TEST(Landscape, AParaboloidIsConvexToTheEdgeOfAnyGrid) {
  for (const int points : {3, 4, 11, 15, 21, 31, 50, 51, 101}) {
    EXPECT_NEAR(numbers_of(paraboloid(points)).convex_radius, 1, 1e-6) << points;
  }
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
    network->parameters().back().fill_(NAN);  // the classifier: what comes before it passes through ReLUs
  }
  Folder folder;
  save(network, folder.path / "model");
  const ImageData data(small_data(), 0);
  LandscapeJob job({{"broken", folder.path / "model"}},
                   loss_measure(load_batches(*data.testing(), *network), {}, "running"), {.points = 3}, 1);
  EXPECT_THAT([&] { run_job(job, {}); },
              testing::ThrowsMessage<Error>(HasSubstr("broken: what is measured at the centre")));
}

// Rows of gradients, one backward pass each, of the mean loss over the given images.
at::Tensor gradient_row(Network& network, const at::Tensor& images, const at::Tensor& labels) {
  Tensors flat;
  for (const at::Tensor& gradient :
       dense_gradients(classification_loss(network.forward(images).logits, labels), network.parameters())) {
    flat.push_back(gradient.reshape({-1}));
  }
  return at::cat(flat);
}

double variance_of_rows(const at::Tensor& rows) {
  return (rows - rows.mean(0)).square().sum().item<double>() / static_cast<double>(rows.size(0));
}

struct Differentiated {
  Network network;
  at::Tensor images, labels;
};

// Double precision, with scales, shifts and statistics of norms that are not those of the start.
Differentiated differentiated(const std::string& name, int64_t count) {
  const Genotype genotype = find_genotype(name);
  Network network(plan_network(*find_space(genotype.space), genotype,
                               {.channels = 4, .cells = name == "darts-v2" ? 3 : 1}, {3, 8, 8}, 4),
                  1);
  network.to(at::kDouble);
  network.eval();
  at::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    at::Tensor parameter = item.value();
    if (parameter.dim() == 1) parameter.add_(0.3 * at::sin(at::arange(parameter.numel(), at::kDouble)));
  }
  for (const auto& item : network.named_buffers()) {
    at::Tensor buffer = item.value();
    buffer.add_(0.2 * at::cos(at::arange(buffer.numel(), at::kDouble)));
  }
  const ImageBatches batches = load_batches(*ImageData(small_data(), 0).testing(), network, count);
  return {network, batches[0].images.to(at::kDouble), batches[0].labels};
}

TEST(GradientVariance, EqualsItsDefinition) {
  for (const std::string name : {"darts-v2", "nasbench201:1462"}) {
    Differentiated of = differentiated(name, 6);
    std::vector<at::Tensor> list;
    for (int64_t i = 0; i < 6; ++i) {
      list.push_back(gradient_row(of.network, of.images.narrow(0, i, 1), of.labels.narrow(0, i, 1)));
    }
    const at::Tensor rows = at::stack(list);
    const double expected = variance_of_rows(rows), mean = rows.mean(0).square().sum().item<double>();
    // In two batches of different size.
    const ImageBatches batches = {{of.images.narrow(0, 0, 4), of.labels.narrow(0, 0, 4)},
                                  {of.images.narrow(0, 4, 2), of.labels.narrow(0, 4, 2)}};
    const GradientVariance found = gradient_variance(of.network, batches);
    EXPECT_NEAR(found.variance, expected, 1e-10 * expected) << name;
    EXPECT_NEAR(found.mean_square, mean, 1e-10 * expected) << name;
    EXPECT_NEAR(found.noise_scale(), expected / mean, 1e-8 * expected / mean);
    double layers = 0;
    for (const auto& [layer, variance] : found.layers) layers += variance;
    EXPECT_NEAR(layers, found.variance, 1e-10 * expected);
    const ImageBatches copies = {
        {of.images.narrow(0, 0, 1).repeat({3, 1, 1, 1}), of.labels.narrow(0, 0, 1).repeat({3})}};
    EXPECT_NEAR(gradient_variance(of.network, copies).variance, 0, 1e-20 * expected) << name;
  }
}

// Over all pairs of images, drawn with repetition, the mean gradient of a pair varies by half.
TEST(GradientVariance, OfMeansOfImagesIsAsManyTimesSmaller) {
  Differentiated of = differentiated("darts-v2", 4);
  std::vector<at::Tensor> pairs;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      const at::Tensor both = at::tensor({i, j}, at::kLong);
      pairs.push_back(gradient_row(of.network, of.images.index_select(0, both), of.labels.index_select(0, both)));
    }
  }
  const double single = gradient_variance(of.network, {{of.images, of.labels}}).variance;
  EXPECT_NEAR(variance_of_rows(at::stack(pairs)), single / 2, 1e-10 * single);
}

}  // namespace
}  // namespace nascent
