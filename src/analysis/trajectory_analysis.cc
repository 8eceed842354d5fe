#include "nascent/analysis/trajectory_analysis.h"

#include <algorithm>
#include <cmath>

#include "nascent/analysis/analysed_models.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/picture_files.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

// The snapshots of a run, in order; or what was given.
std::vector<std::string> snapshots_of(const std::vector<std::string>& models) {
  if (models.size() != 1 || !std::filesystem::is_directory(models[0])) return models;
  const auto folder = std::filesystem::path(models[0]) / "snapshots";
  std::vector<std::string> files;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".nascent") files.push_back(entry.path().string());
    }
  }
  if (files.empty()) {
    fail("{} kept no snapshots. Train with 'nascent train --snapshots 1', or name models in the order of training.",
         models[0]);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json trajectory_json(const Trajectory& found) {
  Json rows = Json::array();
  for (const Trajectory::Point& point : found.points) {
    rows.push_back({{"name", point.name},
                    {"first", point.first},
                    {"second", point.second},
                    {"off_plane", point.off},
                    {"loss", point.loss},
                    {"top1", point.top1},
                    {"plane_loss", point.plane_loss},
                    {"plane_top1", point.plane_top1}});
  }
  return {{"explained", {found.explained[0], found.explained[1]}}, {"models", rows}};
}

PicturePanel plane_panel(const Trajectory& found, const std::string& title) {
  GridPlot plot{.kind = GridPlot::Kind::contour, .x = found.first, .y = found.second};
  for (const double loss : found.loss) plot.values.push_back(loss > 0 ? std::log10(loss) : NAN);
  for (const Trajectory::Point& point : found.points) plot.path.emplace_back(point.first, point.second);
  return {title, fmt::format("first direction, {:.1f} % of the way", 100 * found.explained[0]),
          fmt::format("second direction, {:.1f} %", 100 * found.explained[1]), script_of(plot)};
}

FigurePanel losses_panel(const Trajectory& found) {
  Curve truth{"of the model", {}}, below{"on the plane", {}};
  for (size_t i = 0; i < found.points.size(); ++i) {
    truth.points.emplace_back(static_cast<double>(i), found.points[i].loss);
    below.points.emplace_back(static_cast<double>(i), found.points[i].plane_loss);
  }
  FigurePanel losses{"Loss along the way", "snapshot", "test loss", {{truth, below}}};
  losses.plot.width = 420, losses.plot.height = 240;
  return losses;
}

void draw_trajectory(const AnalysedModels& opened, const Trajectory& found, const std::string& norms,
                     const std::filesystem::path& folder) {
  const PicturePanel plane =
      plane_panel(found, fmt::format("{}   norms {}", opened.group(opened.models.size() - 1), norms));
  if (!write_picture(folder / "trajectory", std::vector{plane})) return;
  if (!write_picture(folder / "losses", std::vector{losses_panel(found)})) return;
  const std::string facts =
      fmt::format("{} test images of {}; norms {}", opened.data->test_size(), opened.data_name, norms);
  write_pictures(folder,
                 {{.group = "Trajectory",
                   .file = "trajectory.svg",
                   .caption = fmt::format("Log-loss (base 10) on the plane of the two principal directions, and the "
                                          "models' places on it; the ring is the last. {}.",
                                          facts)},
                  {.group = "Trajectory",
                   .file = "losses.svg",
                   .caption = fmt::format("The models' own loss, and that of their places on the plane. {}.", facts)}});
}

}  // namespace

void TrajectoryAnalysisOptions::declare(OptionTable& table) {
  trajectory.declare(table);
  table.section("trajectory", "")
      .add("models", models,
           "a training with snapshots ('nascent train --snapshots 1'), or models in the order of training; also "
           "accepted as arguments");
  data.declare(table);
  run.declare(table);
}

void TrajectoryAnalysisOptions::resolve() {
  trajectory.check();
  settle_data(snapshots_of(models), data);
}

Json analyse_trajectory(const TrajectoryAnalysisOptions& options, Session& session) {
  options.run.apply();
  const TrajectoryOptions& asked = options.trajectory;
  const AnalysedModels opened =
      open_models(snapshots_of(options.models), options.data, {asked.images, TrajectoryOptions{}.images});
  std::vector<Snapshot> points;
  for (const LandscapeModel& model : opened.models) points.push_back({model.name, model.path});
  const ImageBatches calibration = opened.calibration(asked.norms == "recalibrated", asked.calibration);
  TrajectoryJob job(points, opened.test_images(), calibration, asked);
  session.begin("trajectory", {{"Data set", opened.data_name}, {"Models", join(options.models, ", ")}});
  Json result;
  session.run([&] {
    session.run(job);
    const Trajectory found = job.trajectory();
    result = trajectory_json(found);
    const std::filesystem::path folder = session.directory().path();
    write_file(folder / "trajectory.csv", trajectory_csv(found));
    write_file(folder / "plane.csv", plane_csv(found));
    draw_trajectory(opened, found, norms_text(asked.norms, calibration), folder);
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_trajectory(const Json& result) {
  std::vector<std::string> lines = {fmt::format("The two directions explain {:.1f} % and {:.1f} % of the way.",
                                                100 * result["explained"][0].get<double>(),
                                                100 * result["explained"][1].get<double>())};
  for (const Json& model : result["models"]) {
    lines.push_back(fmt::format(
        "{:<20} at {:>8.3f}, {:>8.3f}, {:>5.1f} % off the plane: loss {:.4f}, on the plane {:.4f}",
        model["name"].get<std::string>(), model["first"].get<double>(), model["second"].get<double>(),
        100 * model["off_plane"].get<double>(), model["loss"].get<double>(), model["plane_loss"].get<double>()));
  }
  return lines;
}

}  // namespace nascent
