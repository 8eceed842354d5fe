// The line between two models, and the trajectory of a training.
#include "nascent/analysis/line.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "nascent/analysis/trajectory.h"
#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/data/image_data.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::HasSubstr;

DataOptions line_data() {
  DataOptions data;
  data.name = "random";
  data.shape = {3, 8, 8};
  data.classes = 4;
  data.size = 32;
  data.batch = 16;
  return data;
}

std::shared_ptr<Network> line_network(uint64_t seed, int channels = 4) {
  auto network = std::make_shared<Network>(
      plan_network(*find_space("darts"), find_genotype("darts-v2"), {.channels = channels, .cells = 3}, {3, 8, 8}, 4),
      seed);
  network->eval();
  return network;
}

struct LineFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      fmt::format("nascent-line-{}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
  LineFolder() { std::filesystem::create_directories(path); }
  ~LineFolder() { std::filesystem::remove_all(path); }
};

TEST(Line, EndsAreTheModelsToTheBit) {
  const ImageData data(line_data(), 0);
  const auto first = line_network(1), second = line_network(2);
  const double at_first = evaluate(*first, *data.testing()).loss, at_second = evaluate(*second, *data.testing()).loss;
  const ImageBatches images = load_batches(*data.testing(), *first);
  LineJob job(first, second, images, images, {.points = 3});
  run_job(job, {});
  const LineCurve running = job.curve("running");
  EXPECT_EQ(running.loss[0], at_first);
  EXPECT_EQ(running.loss[2], at_second);
  EXPECT_EQ(running.places, (std::vector<double>{0, 0.5, 1}));
  EXPECT_NE(job.curve("recalibrated").loss[1], running.loss[1]);
  EXPECT_THAT(line_csv({running}), HasSubstr("t,loss_running,top1_running\n0,"));
}

// Half-way between w and w is w: no barrier, whatever the norms.
TEST(Line, BetweenAModelAndItselfIsFlat) {
  const ImageData data(line_data(), 0);
  const auto network = line_network(1);
  const ImageBatches images = load_batches(*data.testing(), *network);
  LineJob job(network, line_network(1), images, images, {.points = 5});
  run_job(job, {});
  for (const std::string norms : {"running", "recalibrated"}) EXPECT_NEAR(job.curve(norms).barrier(), 0, 1e-5) << norms;
}

// From -0.1 to 1.1 rounding put the second model at 1.0000000000000002, so that the line had no barrier.
TEST(Line, TheModelsStandAtZeroAndOne) {
  for (const auto& [margin, points] : {std::pair(0.1, 13), std::pair(0.3, 17), std::pair(0.7, 25)}) {
    const std::vector<double> places = LineOptions{.points = points, .from = -margin, .to = 1 + margin}.places();
    EXPECT_EQ(std::count(places.begin(), places.end(), 0.0), 1) << margin;
    EXPECT_EQ(std::count(places.begin(), places.end(), 1.0), 1) << margin;
  }
}

TEST(Line, BarrierByHand) {
  EXPECT_DOUBLE_EQ((LineCurve{"", {0, 0.5, 1}, {1, 5, 2}, {}}.barrier()), 3.5);
  EXPECT_DOUBLE_EQ((LineCurve{"", {-1, 0, 0.5, 1}, {9, 1, 1, 2}, {}}.barrier()), 0);
  EXPECT_TRUE(std::isnan(LineCurve{"", {0, 0.5}, {1, 5}, {}}.barrier()));
}

TEST(Line, ModelsOfOtherShapesAreRefusedByTheirFirstTensor) {
  EXPECT_THAT([] { check_same_shape(*line_network(1), *line_network(1, 8), "a", "b"); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("a and b are not the same network"),
                                                  HasSubstr("'stem0.0.weight' of shape [12, 3, 3, 3]"))));
}

// Points in a plane of a space of many dimensions lie on it entirely, and distances stay what they were.
TEST(Trajectory, OfPointsInAPlaneIsThatPlane) {
  RandomStream random(1, "test");
  at::Tensor axes = at::empty({2, 50}, at::kDouble);
  for (int64_t i = 0; i < 100; ++i) axes.data_ptr<double>()[i] = random.normal();
  const at::Tensor places = at::tensor({5.0, 1.0, 3.0, -1.0, 1.0, 0.5, 0.0, 0.0}, at::kDouble).view({4, 2});
  const at::Tensor rows = at::mm(places, axes) + 7;
  const PrincipalPlane plane = principal_plane(rows);
  EXPECT_NEAR(plane.explained[0] + plane.explained[1], 1, 1e-12);
  EXPECT_GT(plane.explained[0], plane.explained[1]);
  EXPECT_NEAR(plane.first.norm().item<double>(), 1, 1e-12);
  EXPECT_NEAR(plane.first.dot(plane.second).item<double>(), 0, 1e-12);
  for (int64_t i = 0; i < 4; ++i) {
    const auto [x, y] = plane.places[i];
    EXPECT_NEAR(std::hypot(x, y), (rows[i] - rows[3]).norm().item<double>(), 1e-10);
    EXPECT_NEAR(plane.off[i], 0, 1e-6);
  }
  EXPECT_GE(plane.places[0].first, 0);
}

// Orthogonal steps of one length: two of three directions hold two thirds, and what is left out is off the plane.
TEST(Trajectory, SaysHowFarItIsOffThePlane) {
  at::Tensor rows = at::zeros({4, 9}, at::kDouble);
  rows[0][0] = 3.0, rows[1][1] = 2.0, rows[2][2] = 1.0;
  const PrincipalPlane plane = principal_plane(rows);
  EXPECT_NEAR(plane.explained[0], 9.0 / 14, 1e-12);
  EXPECT_NEAR(plane.explained[1], 4.0 / 14, 1e-12);
  EXPECT_NEAR(plane.off[0], 0, 1e-6);
  EXPECT_NEAR(plane.off[2], 1, 1e-12);
  EXPECT_THAT(
      [] {
        principal_plane(at::ones({3, 4}, at::kDouble));
      },
      testing::ThrowsMessage<Error>(HasSubstr("same weights")));
}

// Three models are on their plane exactly, so the plane's loss is theirs where norms are told the same.
TEST(Trajectory, OfThreeModelsHasTheirLosses) {
  const ImageData data(line_data(), 0);
  LineFolder folder;
  std::vector<Snapshot> snapshots;
  const auto network = line_network(1);
  at::NoGradGuard no_grad;
  for (uint64_t i = 0; i < 3; ++i) {
    for (const at::Tensor& parameter : network->parameters()) parameter.mul_(1.05);
    if (i == 1) network->parameters()[0].add_(0.1);
    Model model;
    model.genotype = find_genotype("darts-v2");
    model.input = {3, 8, 8};
    model.class_names = {"a", "b", "c", "d"};
    model.network = network;
    snapshots.push_back({fmt::format("m{}", i), folder.path / fmt::format("m{}", i)});
    save_model(model, snapshots.back().path);
  }
  const ImageBatches images = load_batches(*data.testing(), *network);
  TrajectoryJob job(snapshots, images, {}, {.points = 3, .norms = "running"});
  run_job(job, {});
  const Trajectory found = job.trajectory();
  ASSERT_EQ(found.points.size(), 3u);
  for (const Trajectory::Point& point : found.points) {
    EXPECT_NEAR(point.plane_loss, point.loss, 1e-4 * point.loss);
    EXPECT_NEAR(point.off, 0, 1e-3);
  }
  EXPECT_EQ(found.points[2].first, 0);
  EXPECT_EQ(found.loss.size(), 9u);
  EXPECT_LT(found.first.front(), found.points[2].first);
  EXPECT_GT(found.first.back(), found.points[0].first);
  EXPECT_THAT(
      [&] {
        TrajectoryJob({snapshots[0], snapshots[1]}, images, {}, {});
      },
      testing::ThrowsMessage<Error>(HasSubstr("at least 3 models")));
}

}  // namespace
}  // namespace nascent
