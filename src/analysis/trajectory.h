// The way that training took, seen on the plane of its two principal directions (Li et al. 2018, section 7): the models
// of its epochs, where they fall on the plane, the loss on the plane, and how far the truth is off it.
//
//   TrajectoryJob job(snapshots, images, calibration, options);
//   run_job(job, {});
//   job.trajectory().explained;
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nascent/analysis/weight_plane.h"
#include "nascent/train/loop.h"

namespace nascent {

struct TrajectoryOptions {
  int points = 21;      // of the grid, along each direction
  double margin = 0.2;  // of the trajectory's extent, on every side
  int images = 1000;    // of the test part; 0: all
  std::string norms = "recalibrated";
  int calibration = 512;
  void declare(OptionTable& table);  // section "trajectory"
  void check() const;
};

// The principal directions of the way to the last of some points. Rows are points, the last is the origin.
struct PrincipalPlane {
  at::Tensor first, second;                         // of length 1
  double explained[2] = {0, 0};                     // share of the squared distances to the last point
  std::vector<std::pair<double, double>> places{};  // of every point on the plane, the last at (0, 0)
  std::vector<double> off{};                        // how much of its distance to the last point lies off the plane
};
PrincipalPlane principal_plane(const at::Tensor& rows);

struct Trajectory {
  struct Point {
    std::string name{};
    double first = 0, second = 0;           // on the plane
    double off = 0;                         // part of the distance to the last model that lies off the plane
    double loss = 0, top1 = 0;              // of the model itself
    double plane_loss = 0, plane_top1 = 0;  // of the weights on the plane below it
  };
  std::vector<Point> points{};
  double explained[2] = {0, 0};
  std::vector<double> first{}, second{};  // places of the grid
  std::vector<double> loss{}, top1{};     // loss[j * first.size() + i] at (first[i], second[j])
};

struct Snapshot {
  std::string name{};
  std::filesystem::path path{};
};

// The loss of every model, of every model's place on the plane, and of every point of the grid is a step.
class TrajectoryJob : public Job {
 public:
  TrajectoryJob(std::vector<Snapshot> snapshots, ImageBatches images, ImageBatches calibration,
                TrajectoryOptions options);

  std::string label() const override { return "trajectory"; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override;
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override;
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  Trajectory trajectory() const;

 private:
  void lay_out();
  Evaluation at_place(double first, double second);

  std::vector<Snapshot> snapshots_;
  ImageBatches images_, calibration_;
  TrajectoryOptions options_;
  std::shared_ptr<Network> network_;  // of the last snapshot
  PrincipalPlane plane_;
  std::unique_ptr<WeightPlane> weights_;
  Direction first_, second_;
  std::vector<double> grid_first_, grid_second_;
  at::Tensor values_;  // [steps, 2]
};

// One line per model: its place, how far off, true loss and the plane's.
std::string trajectory_csv(const Trajectory& trajectory);
// "first,second,loss,top1" by line: the grid on the plane.
std::string plane_csv(const Trajectory& trajectory);

}  // namespace nascent
