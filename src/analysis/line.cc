#include "nascent/analysis/line.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"

namespace nascent {
namespace {

std::string shape_text(const at::Tensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")); }

}  // namespace

void LineOptions::declare(OptionTable& table) {
  auto section = table.section("line", "The line from the first model (t = 0) to the second (t = 1).");
  section.add("points", points, "points on the line").range(0, 100001);
  section.add("from", from, "start of the line; below 0: before the first model").range(-100, 100);
  section.add("to", to, "end of the line; above 1: beyond the second model").range(-100, 100);
  section.add("images", images, "test images; 0: all").at_least(0);
  section.add("norms", norms, "batch-norm statistics along the line, one curve for each: recalibrated, running, batch");
  section.add("calibration", calibration, "training images used to recalibrate batch norms").range(1, 1e9);
}

void LineOptions::check() const {
  if (points < 2) fail("line.points is {}, but a line needs at least 2 points.", points);
  if (!(to > from)) fail("The line goes from {} to {}, which has no extent. Set --from 0 --to 1.", from, to);
  if (norms.empty()) fail("--norms: name at least one of recalibrated, running, batch.");
  for (const std::string& name : norms) norms_named(name);
}

std::vector<double> LineOptions::places() const {
  std::vector<double> all;
  for (int i = 0; i < points; ++i) {
    const double place = (from * (points - 1 - i) + to * i) / (points - 1);
    // The models stand at 0 and 1, not at 1e-17 beside.
    all.push_back(std::abs(place - std::round(place)) < 1e-12 ? std::round(place) : place);
  }
  return all;
}

double LineCurve::barrier() const {
  const auto first = std::find(places.begin(), places.end(), 0.0), last = std::find(places.begin(), places.end(), 1.0);
  if (first == places.end() || last == places.end()) return NAN;
  const auto begin = static_cast<size_t>(first - places.begin()), end = static_cast<size_t>(last - places.begin());
  double most = 0;
  for (size_t i = begin; i <= end; ++i) {
    const double straight = (1 - places[i]) * loss[begin] + places[i] * loss[end];
    most = std::max(most, loss[i] - straight);
  }
  return most;
}

void check_same_shape(const Network& first, const Network& second, const std::string& first_name,
                      const std::string& second_name) {
  const Weights a = weights_of(first), b = weights_of(second);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first == b[i].first && a[i].second.sizes() == b[i].second.sizes()) continue;
    fail(
        "{} and {} are not the same network, so there is no line between them: the first tensor that differs is '{}' "
        "of shape {} in one, '{}' of shape {} in the other. Take two trainings of one genotype and size.",
        first_name, second_name, a[i].first, shape_text(a[i].second), b[i].first, shape_text(b[i].second));
  }
  if (a.size() == b.size()) return;
  const auto& longer = a.size() > b.size() ? a : b;
  fail("{} and {} are not the same network: only one has the tensor '{}'. Take two trainings of one genotype and size.",
       first_name, second_name, longer[std::min(a.size(), b.size())].first);
}

LineJob::LineJob(std::shared_ptr<Network> first, const std::shared_ptr<Network>& second, ImageBatches images,
                 ImageBatches calibration, LineOptions options)
    : network_(std::move(first)),
      own_(weights_of(*network_)),
      first_(copy_of(own_)),
      second_(copy_of(weights_of(*second))),
      images_(std::move(images)),
      calibration_(std::move(calibration)),
      options_(std::move(options)) {
  options_.check();
  places_ = options_.places();
  values_ = at::full({static_cast<int64_t>(options_.norms.size()), static_cast<int64_t>(places_.size()), 2}, NAN,
                     at::kDouble);
}

// The ends are the models themselves, to the bit; statistics of norms are mixed as the weights are.
void LineJob::move_to(double t) {
  at::NoGradGuard no_grad;
  if (t == 0 || t == 1) return assign(t == 0 ? first_ : second_, own_);
  for (size_t i = 0; i < own_.size(); ++i) {
    at::Tensor weight = own_[i].second;
    if (!weight.is_floating_point()) continue;
    weight.copy_(first_[i].second * (1 - t) + second_[i].second * t);
  }
}

StepReport LineJob::step(int64_t, int64_t step, EventSink&) {
  StepReport report;
  for (size_t n = 0; n < options_.norms.size(); ++n) {
    move_to(places_[step]);
    const Evaluation found = evaluate_batches(*network_, images_, norms_named(options_.norms[n]), calibration_);
    at::Tensor value = values_[static_cast<int64_t>(n)][step];
    value[0] = found.loss;
    value[1] = found.top1;
    if (n == 0) report.note = fmt::format("{:.4f}", found.loss);
  }
  return report;
}

void LineJob::save(State& state, const std::string& prefix) const { state.put(prefix + "values", values_); }
void LineJob::load(const State& state, const std::string& prefix) { state.copy_into(prefix + "values", values_); }

LineCurve LineJob::curve(const std::string& norms) const {
  const auto found = std::find(options_.norms.begin(), options_.norms.end(), norms);
  if (found == options_.norms.end()) fail("The line was not measured with norms '{}'.", norms);
  LineCurve curve{.norms = norms, .places = places_};
  const at::Tensor values = values_[found - options_.norms.begin()];
  for (int64_t i = 0; i < values.size(0); ++i) {
    curve.loss.push_back(values[i][0].item<double>());
    curve.top1.push_back(values[i][1].item<double>());
  }
  return curve;
}

std::string line_csv(const std::vector<LineCurve>& curves) {
  std::string text = "t";
  for (const LineCurve& curve : curves) text += fmt::format(",loss_{0},top1_{0}", curve.norms);
  text += "\n";
  for (size_t i = 0; i < curves.front().places.size(); ++i) {
    text += fmt::format("{}", curves.front().places[i]);
    for (const LineCurve& curve : curves) text += fmt::format(",{},{}", curve.loss[i], curve.top1[i]);
    text += "\n";
  }
  return text;
}

}  // namespace nascent
