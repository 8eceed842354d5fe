#include "nascent/analysis/trajectory.h"

#include <ATen/ATen.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "nascent/analysis/line.h"
#include "nascent/core/error.h"
#include "nascent/train/model.h"

namespace nascent {
namespace {

at::Tensor flat_parameters(const Network& network) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& parameter : network.parameters()) parts.push_back(parameter.detach().reshape({-1}));
  return at::cat(parts);
}

Direction as_direction(const at::Tensor& flat, const Network& network) {
  Direction direction;
  int64_t offset = 0;
  for (const at::Tensor& parameter : network.parameters()) {
    direction.push_back(flat.narrow(0, offset, parameter.numel()).view(parameter.sizes()).to(parameter.scalar_type()));
    offset += parameter.numel();
  }
  return direction;
}

// `count` places that cover the numbers with a margin.
std::vector<double> covering(const std::vector<double>& numbers, double margin, double least, int count) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  const double middle = (*low + *high) / 2, half = std::max((*high - *low) / 2, least) * (1 + 2 * margin);
  std::vector<double> places;
  for (int i = 0; i < count; ++i) places.push_back(middle + half * (2.0 * i - (count - 1)) / (count - 1));
  return places;
}

}  // namespace

void TrajectoryOptions::declare(OptionTable& table) {
  auto section = table.section("trajectory", "The plane of the two principal directions of a training.");
  section.add("points", points, "grid points along each direction").range(0, 10001);
  section.add("margin", margin, "margin of the grid around the trajectory, as a fraction of its extent").range(0, 100);
  section.add("images", images, "test images; 0: all").at_least(0);
  section.add("norms", norms, "batch-norm statistics on the plane; running: those of the last model")
      .one_of({"running", "recalibrated", "batch"});
  section.add("calibration", calibration, "training images used to recalibrate batch norms").range(1, 1e9);
}

void TrajectoryOptions::check() const {
  if (points < 2) fail("trajectory.points is {}, but a grid needs at least 2 points along each direction.", points);
}

PrincipalPlane principal_plane(const at::Tensor& rows) {
  const int64_t count = rows.size(0);
  const at::Tensor ways = rows.to(at::kDouble) - rows[count - 1].to(at::kDouble);
  const at::Tensor gram = at::mm(ways, ways.t()).contiguous();
  const Eigen::Map<const Eigen::MatrixXd> inner(gram.data_ptr<double>(), count, count);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(inner);
  const double total = inner.trace();
  if (!(total > 0)) fail("All models of the trajectory have the same weights, so it has no direction.");
  PrincipalPlane plane;
  at::Tensor* directions[2] = {&plane.first, &plane.second};
  for (int k = 0; k < 2; ++k) {
    const Eigen::Index place = count - 1 - k;
    const double eigenvalue = std::max(0.0, solver.eigenvalues()(place));
    plane.explained[k] = eigenvalue / total;
    at::Tensor mix = at::empty({count}, at::kDouble);
    for (int64_t i = 0; i < count; ++i) mix[i] = solver.eigenvectors()(i, place);
    // What has no second direction gets none.
    const at::Tensor sum = at::mv(ways.t(), mix);
    *directions[k] = eigenvalue > 1e-12 * total ? sum / std::sqrt(eigenvalue) : at::zeros_like(sum);
    // The first model lies on the positive side, whichever sign the eigenvector came with.
    if (at::dot(*directions[k], ways[0]).item<double>() < 0) directions[k]->neg_();
  }
  for (int64_t i = 0; i < count; ++i) {
    const double x = at::dot(ways[i], plane.first).item<double>(), y = at::dot(ways[i], plane.second).item<double>();
    const double length = inner(i, i);
    plane.places.emplace_back(x, y);
    plane.off.push_back(length > 0 ? std::sqrt(std::max(0.0, 1 - (x * x + y * y) / length)) : 0);
  }
  return plane;
}

TrajectoryJob::TrajectoryJob(std::vector<Snapshot> snapshots, ImageBatches images, ImageBatches calibration,
                             TrajectoryOptions options)
    : snapshots_(std::move(snapshots)),
      images_(std::move(images)),
      calibration_(std::move(calibration)),
      options_(std::move(options)) {
  options_.check();
  if (snapshots_.size() < 3) {
    fail(
        "A trajectory needs at least 3 models, in the order of training; there are {}. Keep them with 'nascent train "
        "--snapshots 1'.",
        snapshots_.size());
  }
  lay_out();
  values_ = at::full({steps(), 2}, NAN, at::kDouble);
}

void TrajectoryJob::lay_out() {
  network_ = load_model(snapshots_.back().path).network;
  std::vector<at::Tensor> rows;
  for (const Snapshot& snapshot : snapshots_) {
    const auto network = load_model(snapshot.path).network;
    check_same_shape(*network_, *network, snapshots_.back().name, snapshot.name);
    rows.push_back(flat_parameters(*network));
  }
  plane_ = principal_plane(at::stack(rows));
  first_ = as_direction(plane_.first, *network_);
  second_ = as_direction(plane_.second, *network_);
  weights_ = std::make_unique<WeightPlane>(*network_);
  std::vector<double> x, y;
  for (const auto& [first, second] : plane_.places) x.push_back(first), y.push_back(second);
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  grid_first_ = covering(x, options_.margin, 0, options_.points);
  // A way that is straight still gets a plane.
  grid_second_ = covering(y, options_.margin, 0.05 * (*high - *low), options_.points);
}

int64_t TrajectoryJob::steps() const {
  return 2 * static_cast<int64_t>(snapshots_.size()) + static_cast<int64_t>(options_.points) * options_.points;
}

Evaluation TrajectoryJob::at_place(double first, double second) {
  weights_->move({&first_, &second_}, {first, second});
  return evaluate_batches(*network_, images_, norms_named(options_.norms), calibration_);
}

StepReport TrajectoryJob::step(int64_t, int64_t step, EventSink&) {
  const auto models = static_cast<int64_t>(snapshots_.size());
  Evaluation found;
  if (step < models) {
    found = evaluate_batches(*load_model(snapshots_[step].path).network, images_);
  } else if (step < 2 * models) {
    const auto [x, y] = plane_.places[step - models];
    found = at_place(x, y);
  } else {
    const int64_t point = step - 2 * models;
    found = at_place(grid_first_[point % options_.points], grid_second_[point / options_.points]);
  }
  values_[step][0] = found.loss;
  values_[step][1] = found.top1;
  return {.loss = std::isfinite(found.loss) ? found.loss : 0, .note = fmt::format("{:.4f}", found.loss)};
}

void TrajectoryJob::end_epoch(int64_t, EventSink&) { weights_->restore(); }
void TrajectoryJob::save(State& state, const std::string& prefix) const { state.put(prefix + "values", values_); }
void TrajectoryJob::load(const State& state, const std::string& prefix) { state.copy_into(prefix + "values", values_); }

Trajectory TrajectoryJob::trajectory() const {
  Trajectory found{.first = grid_first_, .second = grid_second_};
  const auto models = static_cast<int64_t>(snapshots_.size());
  const auto value = [&](int64_t step, int which) { return values_[step][which].item<double>(); };
  for (int64_t m = 0; m < models; ++m) {
    found.points.push_back({.name = snapshots_[m].name,
                            .first = plane_.places[m].first,
                            .second = plane_.places[m].second,
                            .off = plane_.off[m],
                            .loss = value(m, 0),
                            .top1 = value(m, 1),
                            .plane_loss = value(models + m, 0),
                            .plane_top1 = value(models + m, 1)});
  }
  std::copy(std::begin(plane_.explained), std::end(plane_.explained), found.explained);
  for (int64_t step = 2 * models; step < steps(); ++step) {
    found.loss.push_back(value(step, 0));
    found.top1.push_back(value(step, 1));
  }
  return found;
}

std::string trajectory_csv(const Trajectory& trajectory) {
  std::string text = "model,first,second,off_plane,loss,top1,plane_loss,plane_top1\n";
  for (const Trajectory::Point& point : trajectory.points) {
    text += fmt::format("{},{},{},{:.6g},{},{},{},{}\n", point.name, point.first, point.second, point.off, point.loss,
                        point.top1, point.plane_loss, point.plane_top1);
  }
  return text;
}

std::string plane_csv(const Trajectory& found) {
  std::string text = "first,second,loss,top1\n";
  for (size_t i = 0; i < found.loss.size(); ++i) {
    text += fmt::format("{},{},{},{}\n", found.first[i % found.first.size()], found.second[i / found.first.size()],
                        found.loss[i], found.top1[i]);
  }
  return text;
}

}  // namespace nascent
