#include "nascent/analysis/landscape_analysis.h"

#include <cmath>

#include "nascent/analysis/analysed_models.h"
#include "nascent/analysis/job_sequence.h"
#include "nascent/analysis/landscape_pictures.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/no_events.h"
#include "nascent/core/paired_test.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::string grid_name(const std::string& model, int pair) { return fmt::format("{}-{}", model, pair + 1); }

// Options, models and images of one analysis, and the jobs that they come to.
class LandscapeAnalysis {
 public:
  explicit LandscapeAnalysis(const LandscapeAnalysisOptions& options)
      : options_(options),
        opened_(open_models(options.models, options.data, options.grid.images)),
        images_(opened_.test_images()),
        measure_(loss_measure(images_,
                              opened_.calibration(options.grid.norms == "recalibrated", options.grid.calibration),
                              options.grid.norms)) {}

  const AnalysedModels& opened() const { return opened_; }

  // What a refined grid must have in common with the coarse one.
  Json settings() const {
    const LandscapeOptions& grid = options_.grid;
    return {{"data", opened_.data_name}, {"images", count_images(images_)}, {"norms", grid.norms},
            {"seed", options_.run.seed}, {"filters", grid.filters},         {"points", grid.points},
            {"range", grid.range},       {"directions", grid.directions}};
  }

  // One point, to say how long all of them will take.
  void say_time() const {
    LandscapeOptions one = options_.grid;
    one.points = 2;
    one.directions = 1;
    LandscapeJob trial({opened_.models[0]}, measure_, one, 1);
    NoEvents events;
    trial.step(0, 0, events);
    const LandscapeOptions& grid = options_.grid;
    const double points = static_cast<double>(opened_.models.size()) * grid.directions * grid.points * grid.points;
    log::info("{:.0f} points of {} images each, about {:.1f} minutes.", points, count_images(images_),
              points * trial.seconds_a_point() / 60);
  }

  std::shared_ptr<JobSequence> jobs() {
    grids_ = std::make_shared<LandscapeJob>(opened_.models, measure_, options_.grid, seed(), known());
    std::vector<std::shared_ptr<Job>> all = {grids_};
    if (options_.curvature) add_spectra(all);
    if (options_.curvature_points > 0) add_ratios(all);
    return std::make_shared<JobSequence>("landscape", std::move(all));
  }

  // Of one model, once the jobs are over: its tables and pictures, and its part of the result.
  Json describe(const std::filesystem::path& folder, size_t model, std::vector<ReportPicture>& pictures) const {
    Json described = describe_grids(folder, model, pictures);
    if (!spectra_.empty()) described["curvature"] = describe_spectrum(folder, model, pictures);
    if (ratios_) described["ratios"] = describe_ratios(folder, model, pictures);
    return described;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.run.seed); }

  ImageBatches curvature_images() const {
    return open_models(options_.models, options_.data, options_.spectrum.images).test_images();
  }

  void add_spectra(std::vector<std::shared_ptr<Job>>& all) {
    const ImageBatches images = curvature_images();
    const Differentiation how = differentiation(options_.spectrum.products);
    for (const LandscapeModel& model : opened_.models) {
      spectra_.push_back(std::make_shared<SpectrumJob>(model_hessian(model.path, images, how),
                                                       hessian_size(model.path, images), options_.spectrum, seed()));
      all.push_back(spectra_.back());
    }
  }

  void add_ratios(std::vector<std::shared_ptr<Job>>& all) {
    const auto measure = [images = curvature_images(), spectrum = options_.spectrum, seed = seed()](Network& network) {
      return curvature_of(network, images, spectrum.steps, differentiation(spectrum.products), seed);
    };
    LandscapeOptions coarse = options_.grid;
    coarse.points = options_.curvature_points;
    ratios_ = std::make_shared<LandscapeJob>(opened_.models, measure, coarse, seed());
    all.push_back(ratios_);
  }

  LandscapeJob::Known known() const {
    LandscapeJob::Known all;
    const std::string& refine = options_.refine;
    if (refine.empty()) return all;
    for (const LandscapeModel& model : opened_.models) {
      for (int pair = 0; pair < options_.grid.directions; ++pair) {
        const auto file = std::filesystem::path(refine) / (grid_name(model.name, pair) + ".csv");
        if (std::filesystem::exists(file)) add_known(all, model.name, pair, read_file(file), file.string());
      }
    }
    if (all.empty()) fail("--refine {}: there is no grid of these models. Name the run folder of one.", refine);
    check_refined();
    return all;
  }

  void check_refined() const {
    const std::string& refine = options_.refine;
    const auto file = std::filesystem::path(refine) / "result.json";
    if (!std::filesystem::exists(file)) fail("--refine {}: the run has not finished yet. Resume it first.", refine);
    const Json other = Json::parse(read_file(file)).value("settings", Json::object()), own = settings();
    for (const char* key : {"filters", "norms", "seed"}) {
      if (other.value(key, own[key]) == own[key]) continue;
      fail("--refine {}: that grid was made with {} {}, this one has {}. Give both the same.", refine, key,
           other[key].dump(), own[key].dump());
    }
  }

  GridScene scene(size_t model, int pair, int64_t images, const std::string& norms) const {
    const std::string &name = opened_.models[model].name, group = opened_.group(model);
    return {.file = grid_name(name, pair),
            .title = name + "   " + group,
            .subtitle = fmt::format("norms {}", norms),
            .group = group,
            .facts = opened_.facts(model, images, norms, pair, options_.grid, options_.run.seed)};
  }

  Json describe_grids(const std::filesystem::path& folder, size_t model, std::vector<ReportPicture>& pictures) const {
    std::vector<LandscapeNumbers> numbers;
    Json grids = Json::array();
    for (int pair = 0; pair < options_.grid.directions; ++pair) {
      const LossGrid grid = grids_->grid(static_cast<int>(model), pair);
      const GridScene drawn = scene(model, pair, opened_.data->test_size(), options_.grid.norms);
      for (ReportPicture& picture : draw_landscape(folder, grid, drawn)) pictures.push_back(std::move(picture));
      if (options_.vtk) write_file(folder / (drawn.file + ".vtk"), grid_vtk(grid, drawn.title));
      numbers.push_back(numbers_of(grid));
      grids.push_back(numbers.back().to_json());
    }
    Json described = opened_.describe(model);
    described.update({{"grids", grids}, {"spread", spread_of(numbers)}});
    return described;
  }

  Json describe_spectrum(const std::filesystem::path& folder, size_t model,
                         std::vector<ReportPicture>& pictures) const {
    const SpectrumResult found = spectra_[model]->result();
    const std::string &name = opened_.models[model].name, group = opened_.group(model);
    const GridScene scene{
        .file = name + "-density",
        .title = name + "   " + group,
        .group = group,
        .facts = fmt::format(
            "of {} ({}) over {} test images of {}, {} products, {} probes, Gaussians of width {:.3g}, seed {}.", name,
            group, options_.spectrum.images, opened_.data_name, options_.spectrum.products, options_.spectrum.density,
            found.smoothing_width(), options_.run.seed)};
    for (ReportPicture& picture : draw_density(folder, found, scene)) pictures.push_back(std::move(picture));
    return found.to_json();
  }

  Json describe_ratios(const std::filesystem::path& folder, size_t model, std::vector<ReportPicture>& pictures) const {
    Json all = Json::array();
    for (int pair = 0; pair < options_.grid.directions; ++pair) {
      const LossGrid grid = ratios_->grid(static_cast<int>(model), pair);
      GridScene drawn = scene(model, pair, options_.spectrum.images, "running");
      drawn.file += "-ratio";
      write_file(folder / (drawn.file + ".csv"), grid_csv(grid, "ratio", "largest"));
      const std::string what = "|smallest / largest| eigenvalue of the Hessian";
      for (ReportPicture& picture : draw_quantity(folder, grid, drawn, what)) {
        picture.surface.clear();
        if (picture.file.ends_with("-map.svg")) pictures.push_back(std::move(picture));
      }
      const std::vector<double> known = finite_of(grid.loss);
      all.push_back(
          {{"centre", grid.centre()}, {"mean", known.empty() ? Json() : Json(mean_and_deviation(known).mean)}});
    }
    return all;
  }

  const LandscapeAnalysisOptions& options_;
  AnalysedModels opened_;
  ImageBatches images_;
  PointMeasure measure_;
  std::shared_ptr<LandscapeJob> grids_, ratios_;
  std::vector<std::shared_ptr<SpectrumJob>> spectra_;  // by model
};

// A number that a result may lack.
double number_or_nan(const Json& value) { return value.is_number() ? value.get<double>() : NAN; }

std::string grid_line(const Json& numbers) {
  const auto holes = numbers["holes"].get<int64_t>();
  return fmt::format("loss {:.4f}, {:.1f} % of the grid within 1 of it, convex for {:.2f}, steepness {:.3g}{}",
                     number_or_nan(numbers["centre"]), 100 * number_or_nan(numbers["flat_share"]),
                     number_or_nan(numbers["convex_radius"]), number_or_nan(numbers["steepness"]),
                     holes > 0 ? fmt::format(", {} holes", holes) : "");
}

std::string curvature_line(const Json& found) {
  return fmt::format(
      "curvature: largest {:.4g} (within {:.2g}), smallest {:.4g}, ratio {:.3g}{}", found["largest"][0].get<double>(),
      found["residuals"][0].get<double>(), found["smallest"].get<double>(), number_or_nan(found["ratio"]),
      found.contains("trace")
          ? fmt::format(", trace {:.4g} ± {:.2g}", found["trace"].get<double>(), found["trace_error"].get<double>())
          : "");
}

}  // namespace

void LandscapeAnalysisOptions::declare(OptionTable& table) {
  grid.declare(table);
  auto section = table.section("landscape", "");
  section.add("models", models, "model files or run folders; also accepted as arguments");
  section.add("refine", refine, "run folder of a coarser grid of the same models, whose points are reused");
  section.add("vtk", vtk, "also write each surface as a ParaView file");
  spectrum.declare(table);
  auto bends = table.section("curvature", "");
  bends.add("curvature", curvature, "compute the eigenvalues and trace of the Hessian of each model");
  bends
      .add("curvature-points", curvature_points,
           "grid points along each direction at which to compute |smallest / largest| eigenvalue; 0: none")
      .range(0, 1001);
  data.declare(table);
  run.declare(table);
}

void LandscapeAnalysisOptions::resolve() {
  grid.check();
  if (curvature_points == 1) fail("--curvature-points 1: a grid needs at least 2 points along each direction.");
  settle_data(models, data);
}

namespace {

// The jobs as another rank has them, with all that they look at.
struct JobsElsewhere {
  explicit JobsElsewhere(const Json& opening)
      : options(farmed_options<LandscapeAnalysisOptions>(opening)), analysis(options), jobs(analysis.jobs()) {}

  LandscapeAnalysisOptions options;
  LandscapeAnalysis analysis;
  std::shared_ptr<JobSequence> jobs;
};

NASCENT_REGISTER(cluster::Helper, "landscape", "points of loss landscapes", [](const Json& opening) {
  const auto all = std::make_shared<JobsElsewhere>(opening);
  return helper_at({all, all->jobs.get()}, all->analysis.opened().digest());
});

}  // namespace

Json analyse_landscape(const LandscapeAnalysisOptions& options, Session& session) {
  options.run.apply();
  LandscapeAnalysis analysis(options);
  const auto jobs = analysis.jobs();
  check_ranks_for(*jobs, "points of grids");
  if (!session.resumed()) analysis.say_time();
  session.begin("landscape", {{"Data set", analysis.opened().data_name}, {"Models", join(options.models, ", ")}});
  Json result = {{"settings", analysis.settings()}, {"models", Json::array()}};
  session.run([&] {
    run_farmed(*jobs, farm_opening("landscape", options, analysis.opened().digest(), session),
               [&](Job& job) { session.run(job); });
    std::vector<ReportPicture> pictures;
    for (const size_t model : analysis.opened().by_width()) {
      result["models"].push_back(analysis.describe(session.directory().path(), model, pictures));
    }
    write_pictures(session.directory().path(), pictures);
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_landscape(const Json& result) {
  std::vector<std::string> lines;
  for (const Json& model : result["models"]) {
    const std::string who =
        fmt::format("{:<28} {:<9}", model["name"].get<std::string>(), model["topology"].get<std::string>());
    const Json& grids = model["grids"];
    for (size_t pair = 0; pair < grids.size(); ++pair) {
      lines.push_back(fmt::format("{} directions {}: {}", who, pair + 1, grid_line(grids[pair])));
    }
    if (model.contains("curvature")) lines.push_back(fmt::format("{} {}", who, curvature_line(model["curvature"])));
    const Json ratios = model.value("ratios", Json::array());
    for (size_t pair = 0; pair < ratios.size(); ++pair) {
      lines.push_back(fmt::format("{} directions {}: ratio {:.3g} at the centre, {:.3g} on average", who, pair + 1,
                                  number_or_nan(ratios[pair]["centre"]), number_or_nan(ratios[pair]["mean"])));
    }
  }
  return lines;
}

}  // namespace nascent
