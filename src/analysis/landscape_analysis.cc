#include "nascent/analysis/landscape_analysis.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>

#include "nascent/analysis/analysed_models.h"
#include "nascent/analysis/job_sequence.h"
#include "nascent/analysis/landscape_pictures.h"
#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/no_events.h"
#include "nascent/core/paired_test.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::string grid_name(const std::string& model, int pair) { return fmt::format("{}-{}", model, pair + 1); }

// A number that a result may lack.
double number_or_nan(const Json& value) { return value.is_number() ? value.get<double>() : NAN; }

// Of a grid's numbers, those that it has: nothing bends between two points.
std::string grid_line(const Json& numbers) {
  std::string line = fmt::format("loss {:.4f} at the centre, {:.1f} % of the grid within 1 of it",
                                 number_or_nan(numbers["centre"]), 100 * number_or_nan(numbers["flat_share"]));
  if (const double radius = number_or_nan(numbers["convex_radius"]); std::isfinite(radius))
    line += fmt::format(", convex for {:.2f}", radius);
  if (const double steepness = number_or_nan(numbers["steepness"]); std::isfinite(steepness))
    line += fmt::format(", steepness {:.3g}", steepness);
  return line + holes_text(numbers["holes"].get<int64_t>());
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Options, models and images of one analysis, and the jobs that they come to.
class LandscapeAnalysis {
 public:
  explicit LandscapeAnalysis(const LandscapeAnalysisOptions& options)
      : options_(options),
        opened_(open_models(options.models, options.data, {options.grid.images, LandscapeOptions{}.images})),
        images_(opened_.test_images()),
        calibration_(opened_.calibration(options.grid.norms == "recalibrated", options.grid.calibration)),
        measure_(loss_measure(images_, calibration_, options.grid.norms)) {
    if (!options.curvature && options.curvature_points == 0) return;
    const ImageCount count{options.spectrum.images, SpectrumOptions{}.images, "--curvature-images"};
    curvature_images_ = open_models(options.models, options.data, count).test_images();
  }

  const AnalysedModels& opened() const { return opened_; }

  // What a refined grid must have in common with the coarse one.
  Json settings() const {
    const LandscapeOptions& grid = options_.grid;
    return {{"data", opened_.data_name},
            {"images", count_images(images_)},
            {"images_digest", opened_.data->digest()},
            {"norms", grid.norms},
            {"calibration", count_images(calibration_)},
            {"seed", options_.run.seed},
            {"filters", grid.filters},
            {"points", grid.points},
            {"range", grid.range},
            {"directions", grid.directions}};
  }

  std::shared_ptr<JobSequence> jobs() {
    grids_ = std::make_shared<LandscapeJob>(opened_.models, measure_, options_.grid, seed(), known());
    std::vector<std::shared_ptr<Job>> all = {grids_};
    if (options_.curvature) add_spectra(all);
    if (options_.curvature_points > 0) add_ratios(all);
    return std::make_shared<JobSequence>("landscape", std::move(all));
  }

  // What there is to do, and how long it will take: by one point and one product. Processes share the points of grids;
  // the products at the models are one process's.
  void say_time() const {
    const auto points = static_cast<double>(grids_->steps_to_compute());
    std::string work = fmt::format("{:.0f} points of {} images each", points, count_images(images_));
    double shared = points * seconds_a_point(), alone = 0;
    if (const double products = ratio_products() + spectrum_products(); products > 0) {
      work +=
          fmt::format(" and {:.0f} products with the Hessian of {} images", products, count_images(curvature_images_));
      const double each = seconds_a_product();
      shared += ratio_products() * each;
      alone = spectrum_products() * each;
    }
    log::info("{}, about {:.1f} minutes.", work, (shared / cluster::size() + alone) / 60);
  }

  // Once the jobs are over: of each model its tables, pictures and part of the result.
  Json describe(const std::filesystem::path& folder, std::vector<ReportPicture>& pictures) const {
    const LandscapeScales scales = common_scales(grids_->grids());
    const QuantityScale ratio_scale = ratios_ ? common_scale(ratios_->grids()) : QuantityScale();
    Json models = Json::array();
    for (const size_t model : opened_.by_width()) {
      Json described = describe_grids(folder, model, scales, pictures);
      if (!spectra_.empty()) described["curvature"] = describe_spectrum(folder, model, pictures);
      if (ratios_) described["ratios"] = describe_ratios(folder, model, ratio_scale, pictures);
      models.push_back(std::move(described));
    }
    return models;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(options_.run.seed); }

  Differentiation products() const { return differentiation(options_.spectrum.products); }

  double ratio_products() const {
    return ratios_ ? static_cast<double>(ratios_->steps()) * options_.spectrum.steps : 0;
  }

  double spectrum_products() const {
    double sum = 0;
    for (const auto& spectrum : spectra_) sum += static_cast<double>(spectrum->steps());
    return sum;
  }

  double seconds_a_point() const {
    const auto network = load_model(opened_.models[0].path).network;
    return seconds_of([&] { measure_(*network); });
  }

  // By one batch: a product streams over all of them.
  double seconds_a_product() const {
    const auto network = load_model(opened_.models[0].path).network;
    const ImageBatches batch = {curvature_images_.front()};
    const HessianOperator hessian(*network, batch, products());
    const double once = seconds_of([&] { hessian(at::ones({hessian.size()}, at::kDouble)); });
    return once * static_cast<double>(count_images(curvature_images_)) / static_cast<double>(count_images(batch));
  }

  void add_spectra(std::vector<std::shared_ptr<Job>>& all) {
    for (const LandscapeModel& model : opened_.models) {
      spectra_.push_back(std::make_shared<SpectrumJob>(model_hessian(model.path, curvature_images_, products()),
                                                       hessian_size(model.path, curvature_images_), options_.spectrum,
                                                       seed()));
      all.push_back(spectra_.back());
    }
  }

  void add_ratios(std::vector<std::shared_ptr<Job>>& all) {
    const auto measure = [images = curvature_images_, spectrum = options_.spectrum, seed = seed()](Network& network) {
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
    const auto file = std::filesystem::path(refine) / "result.json";
    if (!std::filesystem::exists(file)) fail("--refine {}: the run has not finished yet. Resume it first.", refine);
    check_refined(Json::parse(read_file(file)), all);
    return all;
  }

  // The grid to refine must be of the same weights, images and norms. Its centre becomes known too, which need not be a
  // point of it: that is computed anew and compared.
  void check_refined(const Json& coarse, LandscapeJob::Known& known) const {
    const std::string& refine = options_.refine;
    for (size_t model = 0; model < opened_.models.size(); ++model) {
      const std::string& name = opened_.models[model].name;
      for (const Json& other : coarse.value("models", Json::array())) {
        if (other.value("name", "") != name) continue;
        if (const std::string own = opened_.digest_of(model); other.value("digest", own) != own)
          fail("--refine {}: its grid of {} is of other weights. Name the model that it was made with.", refine, name);
        add_centres(other, name, known);
      }
    }
    const Json own = settings(), other = coarse.value("settings", Json::object());
    for (const char* key : {"data", "images", "images_digest", "calibration", "filters", "norms", "seed"}) {
      if (other.value(key, own[key]) == own[key]) continue;
      fail("--refine {}: that grid was made with {} {}, this one has {}. Give both the same.", refine, key,
           other[key].dump(), own[key].dump());
    }
  }

  void add_centres(const Json& coarse, const std::string& name, LandscapeJob::Known& known) const {
    const Json grids = coarse.value("grids", Json::array());
    const int pairs = std::min(options_.grid.directions, static_cast<int>(grids.size()));
    for (int pair = 0; pair < pairs; ++pair) {
      known[{name, pair, 0, 0}] = {number_or_nan(grids[pair]["centre"]), number_or_nan(grids[pair]["centre_top1"])};
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

  Json describe_grids(const std::filesystem::path& folder, size_t model, const LandscapeScales& scales,
                      std::vector<ReportPicture>& pictures) const {
    std::vector<LandscapeNumbers> numbers;
    Json grids = Json::array();
    for (int pair = 0; pair < options_.grid.directions; ++pair) {
      const LossGrid grid = grids_->grid(static_cast<int>(model), pair);
      GridScene drawn = scene(model, pair, count_images(images_), norms_text(options_.grid.norms, calibration_));
      numbers.push_back(numbers_of(grid));
      grids.push_back(numbers.back().to_json());
      drawn.facts += fmt::format(" In numbers: {}.", grid_line(grids.back()));
      for (ReportPicture& picture : draw_landscape(folder, grid, drawn, scales)) pictures.push_back(std::move(picture));
      if (options_.vtk) write_file(folder / (drawn.file + ".vtk"), grid_vtk(grid, drawn.title));
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
            "of {} ({}) over {} test images of {}; norms running, {} products, {} probes, Gaussians of width {:.3g}, "
            "seed {}.",
            name, group, count_images(curvature_images_), opened_.data_name, options_.spectrum.products,
            options_.spectrum.density, found.smoothing_width(), options_.run.seed)};
    for (ReportPicture& picture : draw_density(folder, found, scene)) pictures.push_back(std::move(picture));
    return found.to_json();
  }

  Json describe_ratios(const std::filesystem::path& folder, size_t model, const QuantityScale& scale,
                       std::vector<ReportPicture>& pictures) const {
    Json all = Json::array();
    for (int pair = 0; pair < options_.grid.directions; ++pair) {
      const LossGrid grid = ratios_->grid(static_cast<int>(model), pair);
      GridScene drawn = scene(model, pair, count_images(curvature_images_), "running");
      drawn.file += "-ratio";
      drawn.facts += fmt::format(" In numbers: {:.3g} at the centre{}.", grid.centre(), holes_text(grid.holes()));
      write_file(folder / (drawn.file + ".csv"), grid_csv(grid, "ratio", "largest"));
      const std::string what = "|smallest / largest| eigenvalue of the Hessian";
      for (ReportPicture& picture : draw_quantity(folder, grid, drawn, what, scale)) {
        picture.surface.clear();
        if (picture.file.ends_with("-map.svg")) pictures.push_back(std::move(picture));
      }
      const std::vector<double> known = finite_of(grid.loss);
      all.push_back({{"centre", grid.centre()},
                     {"mean", known.empty() ? Json() : Json(mean_and_deviation(known).mean)},
                     {"holes", grid.holes()}});
    }
    return all;
  }

  const LandscapeAnalysisOptions& options_;
  AnalysedModels opened_;
  ImageBatches images_, calibration_;
  PointMeasure measure_;
  ImageBatches curvature_images_;  // none where no curvature is asked for
  std::shared_ptr<LandscapeJob> grids_, ratios_;
  std::vector<std::shared_ptr<SpectrumJob>> spectra_;  // by model
};

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
  Json result = {{"settings", analysis.settings()}};
  session.run([&] {
    run_farmed(*jobs, farm_opening("landscape", options, analysis.opened().digest(), session),
               [&](Job& job) { session.run(job); });
    std::vector<ReportPicture> pictures;
    result["models"] = analysis.describe(session.directory().path(), pictures);
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
      lines.push_back(fmt::format("{} directions {}: ratio {:.3g} at the centre, {:.3g} on average{}", who, pair + 1,
                                  number_or_nan(ratios[pair]["centre"]), number_or_nan(ratios[pair]["mean"]),
                                  holes_text(ratios[pair]["holes"].get<int64_t>())));
    }
  }
  return lines;
}

}  // namespace nascent
