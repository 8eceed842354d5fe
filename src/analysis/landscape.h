// The loss around a trained network, over a plane of weights ("Understanding architectures learnt by cell-based NAS",
// 4.2.1; Li et al. 2018): a grid that is filled point by point, and what it says in numbers.
//
//   LandscapeJob job(models, loss_measure(batches, {}, "running"), options, seed);
//   run_job(job, {.checkpoints = &store});
//   const LossGrid grid = job.grid(0, 0);
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/analysis/weight_plane.h"
#include "nascent/train/farmed_job.h"
#include "nascent/train/model.h"

namespace nascent {

struct LandscapeOptions {
  int points = 51;
  double range = 1;    // the grid covers [-range, range] in both directions
  int directions = 1;  // pairs of directions: a grid each
  int images = 1000;   // of the test part; 0: all
  std::string norms = "running";
  int calibration = 512;  // training images that recalibrated norms see
  bool filters = true;
  void declare(OptionTable& table);  // section "landscape"
  void check() const;                // an Error where the grid has no points or no extent
  std::vector<double> places() const;
};

// s(alpha, beta), alpha along a row. A value that is not finite is a hole.
struct LossGrid {
  std::vector<double> places{};
  std::vector<double> loss{}, top1{};  // places x places
  // Of the model itself, which need not be a point of the grid; not known: from the points around.
  std::optional<std::pair<double, double>> middle{};

  size_t side() const { return places.size(); }
  double at(const std::vector<double>& values, double alpha, double beta) const;  // between points: bilinear
  double centre() const { return middle ? middle->first : at(loss, 0, 0); }
  double centre_top1() const { return middle ? middle->second : at(top1, 0, 0); }
  int64_t holes() const;
};

struct LandscapeNumbers {
  double centre = 0, centre_top1 = 0;
  double flat_share = 0;     // of the grid, with a loss of at most the centre's + 1
  double convex_radius = 0;  // mean over 32 rays of how far the loss curves upwards
  double steepness = 0;      // mean over the rays of the slope from the centre to half the range
  int64_t holes = 0;
  Json to_json() const;
};
LandscapeNumbers numbers_of(const LossGrid& grid);
// Mean and standard deviation of the shares, radii and slopes of several grids.
Json spread_of(const std::vector<LandscapeNumbers>& grids);
// ", 3 holes"; "" where there are none.
std::string holes_text(int64_t holes);
// The numbers of a grid that are no holes.
std::vector<double> finite_of(const std::vector<double>& values);

// "alpha,beta,loss,top1" by line, or other names where other things were measured.
std::string grid_csv(const LossGrid& grid, const std::string& first = "loss", const std::string& second = "top1");
// The surface as a file for ParaView: legacy VTK, the first number as height, under its name.
std::string grid_vtk(const LossGrid& grid, const std::string& title, const std::string& first = "loss");

struct LandscapeModel {
  std::string name{};
  std::filesystem::path path{};  // of the model file; read when it is its turn
};

// What is measured of a network whose weights were moved: two numbers, loss and accuracy unless told otherwise.
using PointMeasure = std::function<std::pair<double, double>(Network&)>;
PointMeasure loss_measure(ImageBatches images, ImageBatches calibration, const std::string& norms);

// Every point of every grid of every model is a step; the centre of a grid comes first.
class LandscapeJob : public FarmedJob {
 public:
  // Points of an earlier, coarser grid, by (model, pair, alpha, beta) in billionths: those are not computed again.
  using Known = std::map<std::tuple<std::string, int, int64_t, int64_t>, std::pair<double, double>>;

  LandscapeJob(std::vector<LandscapeModel> models, PointMeasure measure, LandscapeOptions options, uint64_t seed,
               Known known = {});

  std::string label() const override { return "landscape"; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override;
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  std::string piece(int64_t epoch, int64_t step) override;
  StepReport take(int64_t epoch, int64_t step, const std::string& found, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override;
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  LossGrid grid(int model, int pair) const;
  std::vector<LossGrid> grids() const;  // of all models, each with all its pairs
  // Steps whose points are not known from an earlier grid.
  int64_t steps_to_compute() const;

 private:
  struct Place {
    int model, pair, column, row;
  };
  Place place(int64_t step) const;
  const std::pair<double, double>* known(const Place& place) const;  // none: to be computed
  void take(int model);
  void aim(int pair);
  std::pair<double, double> measure(const Place& place);
  void check_known(const Place& centre, double loss) const;

  std::vector<LandscapeModel> models_;
  PointMeasure measure_;
  LandscapeOptions options_;
  uint64_t seed_;
  Known known_;
  std::vector<double> places_;
  at::Tensor values_;   // [models, pairs, rows, columns, 2], loss and top1
  at::Tensor centres_;  // [models, pairs, 2]

  int taken_ = -1, aimed_ = -1;  // what is loaded
  std::shared_ptr<Network> network_;
  std::unique_ptr<WeightPlane> plane_;
  Direction first_, second_;
};

// A place on the grid as Known has it.
int64_t in_billionths(double place);
// The points of an earlier run's CSV files; holes are left to be computed again.
void add_known(LandscapeJob::Known& known, const std::string& model, int pair, const std::string& csv,
               const std::string& origin);

}  // namespace nascent
