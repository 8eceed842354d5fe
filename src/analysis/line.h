// The loss on the straight line between two trained networks of one shape: w(t) = (1 - t) a + t b. What lies between
// has norms whose statistics fit neither end, so they are computed anew at every point unless told otherwise.
//
//   LineJob job(a, b, images, calibration, options);
//   run_job(job, {});
//   job.curve("recalibrated").barrier();
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nascent/analysis/weight_plane.h"
#include "nascent/train/loop.h"
#include "nascent/train/model.h"

namespace nascent {

struct LineOptions {
  int points = 25;
  double from = 0, to = 1;  // 0 is the first model, 1 the second
  int images = 1000;        // of the test part; 0: all
  std::vector<std::string> norms = {"recalibrated", "running"};
  int calibration = 512;             // training images that recalibrated norms see
  void declare(OptionTable& table);  // section "line"
  void check() const;
  std::vector<double> places() const;
};

// Test loss and accuracy along the line.
struct LineCurve {
  std::string norms{};
  std::vector<double> places{}, loss{}, top1{};
  // How far the loss between the ends rises above the straight line from end to end; NaN where an end is not on it.
  double barrier() const;
};

// An Error that names the first tensor in which the two differ.
void check_same_shape(const Network& first, const Network& second, const std::string& first_name,
                      const std::string& second_name);

// A point is a step.
class LineJob : public Job {
 public:
  LineJob(std::shared_ptr<Network> first, const std::shared_ptr<Network>& second, ImageBatches images,
          ImageBatches calibration, LineOptions options);

  std::string label() const override { return "line"; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override { return static_cast<int64_t>(places_.size()); }
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  LineCurve curve(const std::string& norms) const;

 private:
  void move_to(double t);

  std::shared_ptr<Network> network_;
  Weights own_, first_, second_;
  ImageBatches images_, calibration_;
  LineOptions options_;
  std::vector<double> places_;
  at::Tensor values_;  // [norms, points, 2]
};

// "t", then loss and accuracy of each curve, by line.
std::string line_csv(const std::vector<LineCurve>& curves);

}  // namespace nascent
