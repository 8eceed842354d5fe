// nascent analyze trajectory: the way that a training took, on its two principal directions.
#include <cmath>

#include "nascent/analysis/trajectory.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

class AnalyzeTrajectoryVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN | MODEL..."; }
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("trajectory", "")
        .add("models", models_,
             "a training that kept snapshots ('nascent train --snapshots 1'), or models in the order of training; they "
             "may stand after the verb too");
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    models_.insert(models_.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    settle_data(snapshots(), data_);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(snapshots(), data_, options_.images);
    std::vector<Snapshot> points;
    for (const LandscapeModel& model : opened.models) points.push_back({model.name, model.path});
    TrajectoryJob job(points, opened.test_images(),
                      opened.calibration(options_.norms == "recalibrated", options_.calibration), options_);
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("trajectory", {{"Data set", opened.data_name}, {"Models", join(models_, ", ")}});
    Json result;
    session.run([&] {
      session.run(job);
      const Trajectory found = job.trajectory();
      result = describe(invocation, found);
      write_file(session.directory().path() / "trajectory.csv", trajectory_csv(found));
      write_file(session.directory().path() / "plane.csv", plane_csv(found));
      draw(session.directory().path(), found, opened);
      session.conclude(result);
    });
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  // The snapshots of a run, in order; or what was given.
  std::vector<std::string> snapshots() const {
    if (models_.size() != 1 || !std::filesystem::is_directory(models_[0])) return models_;
    const auto folder = std::filesystem::path(models_[0]) / "snapshots";
    std::vector<std::string> files;
    if (std::filesystem::is_directory(folder)) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".nascent") files.push_back(entry.path().string());
      }
    }
    if (files.empty()) {
      fail("{} kept no snapshots. Train with 'nascent train --snapshots 1', or name models in the order of training.",
           models_[0]);
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  static Json describe(const Invocation& invocation, const Trajectory& found) {
    invocation.print(fmt::format("The two directions explain {:.1f} % and {:.1f} % of the way.",
                                 100 * found.explained[0], 100 * found.explained[1]));
    Json rows = Json::array();
    for (const Trajectory::Point& point : found.points) {
      invocation.print(
          fmt::format("{:<20} at {:>8.3f}, {:>8.3f}, {:>5.1f} % off the plane: loss {:.4f}, on the plane {:.4f}",
                      point.name, point.first, point.second, 100 * point.off, point.loss, point.plane_loss));
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

  static std::string plane_csv(const Trajectory& found) {
    std::string text = "first,second,loss,top1\n";
    for (size_t i = 0; i < found.loss.size(); ++i) {
      text += fmt::format("{},{},{},{}\n", found.first[i % found.first.size()], found.second[i / found.first.size()],
                          found.loss[i], found.top1[i]);
    }
    return text;
  }

  void draw(const std::filesystem::path& folder, const Trajectory& found, const AnalysedModels& opened) const {
    GridPlot plot{.kind = GridPlot::Kind::contour, .x = found.first, .y = found.second};
    for (const double loss : found.loss) plot.values.push_back(loss > 0 ? std::log10(loss) : NAN);
    Curve truth{"of the model", {}}, below{"on the plane", {}};
    for (size_t i = 0; i < found.points.size(); ++i) {
      plot.path.emplace_back(found.points[i].first, found.points[i].second);
      truth.points.emplace_back(static_cast<double>(i), found.points[i].loss);
      below.points.emplace_back(static_cast<double>(i), found.points[i].plane_loss);
    }
    const auto map =
        draw_picture({{opened.group(opened.models.size() - 1),
                       fmt::format("first direction, {:.1f} % of the way", 100 * found.explained[0]),
                       fmt::format("second direction, {:.1f} %", 100 * found.explained[1]), script_of(plot)}});
    FigurePanel losses{"Loss along the way", "snapshot", "test loss", {{truth, below}}};
    losses.plot.width = 420, losses.plot.height = 240;
    const auto curves = draw_figure({losses});
    if (!map || !curves) return;
    write_file(folder / "trajectory.svg", *map);
    write_file(folder / "losses.svg", *curves);
    const std::string facts =
        fmt::format("{} test images of {}; norms {}", opened.data->test_size(), opened.data_name, options_.norms);
    write_pictures(folder,
                   {{.group = "Trajectory",
                     .file = "trajectory.svg",
                     .caption = "Log-loss (base 10) on the plane of the two principal directions, and the "
                                "models' places on it; the cross is the last. " +
                                facts + "."},
                    {.group = "Trajectory",
                     .file = "losses.svg",
                     .caption = "The models' own loss, and that of their places on the plane. " + facts + "."}});
  }

  TrajectoryOptions options_;
  std::vector<std::string> models_;
  DataOptions data_ = data_of_the_model();
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze trajectory", "the way that a training took, on its two principal directions",
                 [] { return std::make_unique<AnalyzeTrajectoryVerb>(); });

}  // namespace
}  // namespace nascent
