#include "nascent/analysis/landscape.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/paired_test.h"
#include "nascent/table/csv.h"

namespace nascent {

void LandscapeOptions::declare(OptionTable& table) {
  auto section = table.section("landscape", "The grid of weights around each model.");
  section.add("points", points, "grid points along each direction").range(0, 10001);
  section.add("range", range, "extent of the grid in both directions, relative to the norm of the weights")
      .range(0, 1000);
  section
      .add("directions", directions,
           "number of pairs of random directions, one grid for each; a single pair says little")
      .range(1, 1000);
  section.add("images", images, "test images; 0: all").at_least(0);
  section.add("norms", norms, "batch-norm statistics away from the trained weights")
      .one_of({"running", "recalibrated", "batch"});
  section.add("calibration", calibration, "training images used to recalibrate batch norms").range(1, 1e9);
  section.add("filters", filters, "normalise directions filter by filter");
}

void LandscapeOptions::check() const {
  if (points < 2) fail("landscape.points is {}, but a grid needs at least 2 points along each direction.", points);
  if (!(range > 0)) fail("landscape.range is {}, but a grid needs an extent. Set it to 1, as in the papers.", range);
}

std::vector<double> LandscapeOptions::places() const {
  std::vector<double> all;
  for (int i = 0; i < points; ++i) all.push_back(range * (2.0 * i - (points - 1)) / (points - 1));
  return all;
}

PointMeasure loss_measure(ImageBatches images, ImageBatches calibration, const std::string& norms) {
  return
      [images = std::move(images), calibration = std::move(calibration), norms = norms_named(norms)](Network& network) {
        const Evaluation found = evaluate_batches(network, images, norms, calibration);
        return std::pair(found.loss, found.top1);
      };
}

LandscapeJob::LandscapeJob(std::vector<LandscapeModel> models, PointMeasure measure, LandscapeOptions options,
                           uint64_t seed, Known known)
    : models_(std::move(models)),
      measure_(std::move(measure)),
      options_(std::move(options)),
      seed_(seed),
      known_(std::move(known)) {
  options_.check();
  places_ = options_.places();
  const auto side = static_cast<int64_t>(places_.size());
  const auto count = static_cast<int64_t>(models_.size());
  values_ = at::full({count, options_.directions, side, side, 2}, NAN, at::kDouble);
  centres_ = at::full({count, options_.directions, 2}, NAN, at::kDouble);
}

// One more step a grid: the centre, which need not be a point of it.
int64_t LandscapeJob::steps() const {
  const auto side = static_cast<int64_t>(places_.size());
  return static_cast<int64_t>(models_.size()) * options_.directions * (side * side + 1);
}

LandscapeJob::Place LandscapeJob::place(int64_t step) const {
  const auto side = static_cast<int64_t>(places_.size()), grid = side * side + 1;
  const int64_t pair = step / grid, point = step % grid - 1;  // -1: the centre
  return {static_cast<int>(pair / options_.directions), static_cast<int>(pair % options_.directions),
          static_cast<int>(point < 0 ? -1 : point % side), static_cast<int>(point < 0 ? -1 : point / side)};
}

void LandscapeJob::take(int model) {
  if (taken_ == model) return;
  plane_.reset();
  network_ = load_model(models_[model].path).network;
  network_->eval();
  plane_ = std::make_unique<WeightPlane>(*network_);
  taken_ = model;
  aimed_ = -1;
}

void LandscapeJob::aim(int pair) {
  if (aimed_ == pair) return;
  plane_->restore();
  first_ = random_direction(*network_, seed_, 2 * pair, options_.filters);
  second_ = random_direction(*network_, seed_, 2 * pair + 1, options_.filters);
  aimed_ = pair;
}

const std::pair<double, double>* LandscapeJob::known(const Place& place) const {
  // The centre is computed in any case: it shows whether what is known is of these weights and images.
  if (place.column < 0) return nullptr;
  const auto found = known_.find(
      {models_[place.model].name, place.pair, in_billionths(places_[place.column]), in_billionths(places_[place.row])});
  return found == known_.end() ? nullptr : &found->second;
}

int64_t LandscapeJob::steps_to_compute() const {
  if (known_.empty()) return steps();
  int64_t count = 0;
  for (int64_t step = 0; step < steps(); ++step) count += known(place(step)) == nullptr ? 1 : 0;
  return count;
}

std::pair<double, double> LandscapeJob::measure(const Place& place) {
  if (const auto* found = known(place)) return *found;
  const double alpha = place.column < 0 ? 0 : places_[place.column], beta = place.row < 0 ? 0 : places_[place.row];
  take(place.model);
  aim(place.pair);
  plane_->move({&first_, &second_}, {alpha, beta});
  return measure_(*network_);
}

void LandscapeJob::check_known(const Place& centre, double loss) const {
  const auto known = known_.find({models_[centre.model].name, centre.pair, 0, 0});
  if (known == known_.end() || std::abs(known->second.first - loss) <= 1e-4 * std::abs(loss)) return;
  fail(
      "{}: the grid to refine has {} at its centre, but the model gives {}. It is of other weights, images or norms; "
      "refine it with the model and options it was made with.",
      models_[centre.model].name, known->second.first, loss);
}

std::string LandscapeJob::piece(int64_t, int64_t step) {
  const auto [loss, top1] = measure(place(step));
  return fmt::format("{} {}", loss, top1);  // read back, they are the same to the bit
}

StepReport LandscapeJob::take(int64_t, int64_t step, const std::string& found, EventSink&) {
  const Place here = place(step);
  const double loss = std::strtod(found.c_str(), nullptr);
  const double top1 = std::strtod(found.c_str() + found.find(' '), nullptr);
  if (here.column < 0) {
    if (!std::isfinite(loss)) {
      fail(
          "{}: what is measured at the centre is {}, so there is no landscape around it. Train the model to a finite "
          "loss.",
          models_[here.model].name, loss);
    }
    check_known(here, loss);
    centres_[here.model][here.pair][0] = loss;
    centres_[here.model][here.pair][1] = top1;
    return {.loss = loss, .note = fmt::format("{}: centre {:.4f}", models_[here.model].name, loss)};
  }
  at::Tensor value = values_[here.model][here.pair][here.row][here.column];
  value[0] = loss;
  value[1] = top1;
  // A hole in the grid is no failure of the run.
  return {.loss = std::isfinite(loss) ? loss : 0, .note = fmt::format("{}: {:.4g}", models_[here.model].name, loss)};
}

void LandscapeJob::end_epoch(int64_t, EventSink&) {
  if (plane_) plane_->restore();
}

void LandscapeJob::save(State& state, const std::string& prefix) const {
  state.put(prefix + "values", values_);
  state.put(prefix + "centres", centres_);
}

void LandscapeJob::load(const State& state, const std::string& prefix) {
  state.copy_into(prefix + "values", values_);
  state.copy_into(prefix + "centres", centres_);
}

LossGrid LandscapeJob::grid(int model, int pair) const {
  const at::Tensor centre = centres_[model][pair];
  LossGrid grid{.places = places_, .middle = std::pair(centre[0].item<double>(), centre[1].item<double>())};
  const at::Tensor values = values_[model][pair].contiguous();
  const double* numbers = values.data_ptr<double>();
  for (int64_t i = 0; i < values.size(0) * values.size(1); ++i) {
    grid.loss.push_back(numbers[2 * i]);
    grid.top1.push_back(numbers[2 * i + 1]);
  }
  return grid;
}

std::vector<LossGrid> LandscapeJob::grids() const {
  std::vector<LossGrid> all;
  for (int model = 0; model < static_cast<int>(models_.size()); ++model) {
    for (int pair = 0; pair < options_.directions; ++pair) all.push_back(grid(model, pair));
  }
  return all;
}

double LossGrid::at(const std::vector<double>& values, double alpha, double beta) const {
  const double step = places[1] - places[0];
  const auto index = [&](double place) {
    return std::clamp((place - places.front()) / step, 0.0, static_cast<double>(side()) - 1);
  };
  const double x = index(alpha), y = index(beta);
  const auto i = std::min(static_cast<size_t>(x), side() - 2), j = std::min(static_cast<size_t>(y), side() - 2);
  const double u = x - static_cast<double>(i), v = y - static_cast<double>(j);
  // What has no weight may be a hole.
  double sum = 0;
  for (const auto& [di, dj, weight] : {std::tuple(0, 0, (1 - u) * (1 - v)), std::tuple(1, 0, u * (1 - v)),
                                       std::tuple(0, 1, (1 - u) * v), std::tuple(1, 1, u * v)}) {
    if (weight > 1e-12) sum += weight * values[(j + dj) * side() + i + di];
  }
  return sum;
}

int64_t LossGrid::holes() const {
  return std::count_if(loss.begin(), loss.end(), [](double value) { return !std::isfinite(value); });
}

LandscapeNumbers numbers_of(const LossGrid& grid) {
  LandscapeNumbers numbers{.centre = grid.centre(), .centre_top1 = grid.centre_top1()};
  numbers.holes = grid.holes();
  const auto flat =
      std::count_if(grid.loss.begin(), grid.loss.end(), [&](double l) { return l <= numbers.centre + 1; });
  numbers.flat_share = static_cast<double>(flat) / static_cast<double>(grid.loss.size());
  if (grid.side() < 3) {  // nothing bends between two points
    numbers.convex_radius = numbers.steepness = NAN;
    return numbers;
  }
  constexpr int kRays = 32;
  // Steps to the edge, as long as those of the grid where one of its points is the centre.
  const size_t reach = grid.side() / 2;
  const double range = grid.places.back(), step = range / static_cast<double>(reach);
  for (int ray = 0; ray < kRays; ++ray) {
    const double angle = 2 * M_PI * ray / kRays;
    const auto loss = [&](double radius) {
      return grid.at(grid.loss, radius * std::cos(angle), radius * std::sin(angle));
    };
    // As far as each step rises by at least as much as the one before, up to rounding.
    const auto bends_upwards = [&](double radius) {
      const double bend = loss(radius + step) - 2 * loss(radius) + loss(radius - step);
      return bend >= -1e-3 * std::abs(loss(radius) - numbers.centre) - 1e-9;
    };
    size_t convex = 1;
    while (convex < reach && bends_upwards(static_cast<double>(convex) * step)) ++convex;
    numbers.convex_radius += static_cast<double>(convex) * step / kRays;
    numbers.steepness += (loss(range / 2) - numbers.centre) / (range / 2) / kRays;
  }
  return numbers;
}

std::string holes_text(int64_t holes) { return holes > 0 ? fmt::format(", {} holes", holes) : ""; }

std::vector<double> finite_of(const std::vector<double>& values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return finite;
}

Json spread_of(const std::vector<LandscapeNumbers>& grids) {
  Json all = Json::object();
  for (const auto& [name, number] : {std::pair("flat_share", &LandscapeNumbers::flat_share),
                                     std::pair("convex_radius", &LandscapeNumbers::convex_radius),
                                     std::pair("steepness", &LandscapeNumbers::steepness)}) {
    std::vector<double> values;
    for (const LandscapeNumbers& grid : grids) values.push_back(grid.*number);
    const std::vector<double> finite = finite_of(values);
    if (finite.empty()) continue;
    const MeanAndDeviation found = mean_and_deviation(finite);
    all[name] = {{"mean", found.mean}, {"deviation", found.deviation}};
  }
  return all;
}

Json LandscapeNumbers::to_json() const {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"centre", number(centre)},         {"centre_top1", number(centre_top1)},
          {"flat_share", number(flat_share)}, {"convex_radius", number(convex_radius)},
          {"steepness", number(steepness)},   {"holes", holes}};
}

std::string grid_csv(const LossGrid& grid, const std::string& first, const std::string& second) {
  std::string text = fmt::format("alpha,beta,{},{}\n", first, second);
  for (size_t j = 0; j < grid.side(); ++j) {
    for (size_t i = 0; i < grid.side(); ++i) {
      const size_t at = j * grid.side() + i;
      text += fmt::format("{},{},{},{}\n", grid.places[i], grid.places[j], grid.loss[at], grid.top1[at]);
    }
  }
  return text;
}

std::string grid_vtk(const LossGrid& grid, const std::string& title, const std::string& first) {
  std::string text = fmt::format(
      "# vtk DataFile Version 3.0\n{}\nASCII\nDATASET STRUCTURED_GRID\nDIMENSIONS {} {} 1\nPOINTS {} double\n",
      title.substr(0, 255), grid.side(), grid.side(), grid.loss.size());
  // Holes stand as high as the highest point: the format has no missing ones.
  double highest = grid.centre();
  for (const double loss : grid.loss) highest = std::isfinite(loss) ? std::max(highest, loss) : highest;
  const auto height = [&](double loss) { return std::isfinite(loss) ? loss : highest; };
  for (size_t j = 0; j < grid.side(); ++j) {
    for (size_t i = 0; i < grid.side(); ++i) {
      text += fmt::format("{} {} {}\n", grid.places[i], grid.places[j], height(grid.loss[j * grid.side() + i]));
    }
  }
  text += fmt::format("POINT_DATA {}\nSCALARS {} double 1\nLOOKUP_TABLE default\n", grid.loss.size(), first);
  for (const double loss : grid.loss) text += fmt::format("{}\n", height(loss));
  return text;
}

int64_t in_billionths(double place) { return std::llround(place * 1e9); }

void add_known(LandscapeJob::Known& known, const std::string& model, int pair, const std::string& csv,
               const std::string& origin) {
  const std::vector<CsvRow> rows = parse_csv(csv, origin);
  for (size_t i = 1; i < rows.size(); ++i) {
    const auto& fields = rows[i].fields;
    if (fields.size() != 4)
      fail("{}: line {} has {} fields; a grid has alpha, beta, loss and top1.", origin, rows[i].line, fields.size());
    double numbers[4] = {};
    for (int f = 0; f < 4; ++f) {
      char* end = nullptr;
      numbers[f] = std::strtod(fields[f].c_str(), &end);
      if (fields[f].empty() || *end != '\0')
        fail("{}: line {} has '{}' where a number was expected.", origin, rows[i].line, fields[f]);
    }
    if (!std::isfinite(numbers[2])) continue;
    known[{model, pair, in_billionths(numbers[0]), in_billionths(numbers[1])}] = {numbers[2], numbers[3]};
  }
}

}  // namespace nascent
