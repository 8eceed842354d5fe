// nascent analyze landscape: the loss around trained models, over planes of weights, and its curvature.
#include <cmath>

#include "nascent/analysis/job_sequence.h"
#include "nascent/analysis/landscape_pictures.h"
#include "nascent/analysis/spectrum.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"

namespace nascent {
namespace {

constexpr double kLeastDensity = 1e-7;  // what is drawn as nothing

class AnalyzeLandscapeVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL..."; }
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    auto section = table.section("landscape", "");
    section.add("models", models_, "model files or run folders; they may stand after the verb too");
    section.add("refine", refine_, "run folder of a coarser grid of the same models: its points are taken over");
    section.add("vtk", vtk_, "write each surface for ParaView too");
    spectrum_.declare(table);
    auto curvature = table.section("curvature", "");
    curvature.add("curvature", curvature_, "eigenvalues and trace of the Hessian at each model");
    curvature
        .add("curvature-points", curvature_points_,
             "|smallest / largest| eigenvalue on a grid of so many points along each direction; 0: none")
        .range(0, 1001);
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    models_.insert(models_.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    if (curvature_points_ == 1) fail("--curvature-points 1: a grid needs at least 2 points along each direction.");
    settle_data(models_, data_);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(models_, data_, options_.images);
    const ImageBatches images = opened.test_images();
    const PointMeasure measure = loss_measure(
        images, opened.calibration(options_.norms == "recalibrated", options_.calibration), options_.norms);
    if (invocation.resume.empty()) say_time(opened, measure, count_images(images));
    const auto grids = std::make_shared<LandscapeJob>(opened.models, measure, options_, seed(), known(opened));
    std::vector<std::shared_ptr<Job>> jobs = {grids};
    const std::vector<std::shared_ptr<SpectrumJob>> spectra = spectrum_jobs(opened);
    jobs.insert(jobs.end(), spectra.begin(), spectra.end());
    const std::shared_ptr<LandscapeJob> ratios = ratio_job(opened);
    if (ratios) jobs.push_back(ratios);
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("landscape", {{"Data set", opened.data_name}, {"Models", join(models_, ", ")}});
    Json result = {{"settings", settings(opened, count_images(images))}, {"models", Json::array()}};
    session.run([&] {
      JobSequence sequence("landscape", jobs);
      session.run(sequence);
      std::vector<ReportPicture> pictures;
      for (const size_t m : opened.by_width()) {
        Json model = describe_grids(invocation, session, *grids, opened, m, pictures);
        if (!spectra.empty())
          model["curvature"] = describe_spectrum(invocation, session, *spectra[m], opened, m, pictures);
        if (ratios) model["ratios"] = describe_ratios(invocation, session, *ratios, opened, m, pictures);
        result["models"].push_back(std::move(model));
      }
      write_pictures(session.directory().path(), pictures);
      session.conclude(result);
    });
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(run_.seed); }

  // What a refined grid must have in common with the coarse one.
  Json settings(const AnalysedModels& opened, int64_t images) const {
    return {{"data", opened.data_name},    {"images", images},
            {"norms", options_.norms},     {"seed", run_.seed},
            {"filters", options_.filters}, {"points", options_.points},
            {"range", options_.range},     {"directions", options_.directions}};
  }

  ImageBatches curvature_images() const { return open_models(models_, data_, spectrum_.images).test_images(); }

  std::vector<std::shared_ptr<SpectrumJob>> spectrum_jobs(const AnalysedModels& opened) const {
    std::vector<std::shared_ptr<SpectrumJob>> jobs;
    if (!curvature_) return jobs;
    const ImageBatches images = curvature_images();
    for (const LandscapeModel& model : opened.models) {
      jobs.push_back(
          std::make_shared<SpectrumJob>(model_hessian(model.path, images, differentiation(spectrum_.products)),
                                        hessian_size(model.path, images), spectrum_, seed()));
    }
    return jobs;
  }

  std::shared_ptr<LandscapeJob> ratio_job(const AnalysedModels& opened) const {
    if (curvature_points_ == 0) return nullptr;
    const auto measure = [images = curvature_images(), spectrum = spectrum_, seed = seed()](Network& network) {
      return curvature_of(network, images, spectrum.steps, differentiation(spectrum.products), seed);
    };
    LandscapeOptions coarse = options_;
    coarse.points = curvature_points_;
    return std::make_shared<LandscapeJob>(opened.models, measure, coarse, seed());
  }

  LandscapeJob::Known known(const AnalysedModels& opened) const {
    LandscapeJob::Known all;
    if (refine_.empty()) return all;
    for (const LandscapeModel& model : opened.models) {
      for (int pair = 0; pair < options_.directions; ++pair) {
        const auto file = std::filesystem::path(refine_) / (file_name(model.name, pair) + ".csv");
        if (std::filesystem::exists(file)) add_known(all, model.name, pair, read_file(file), file.string());
      }
    }
    if (all.empty()) fail("--refine {}: there is no grid of these models. Name the run folder of one.", refine_);
    check_settings();
    return all;
  }

  void check_settings() const {
    const auto file = std::filesystem::path(refine_) / "result.json";
    if (!std::filesystem::exists(file)) fail("--refine {}: the run has not ended yet. Go on with it first.", refine_);
    const Json other = Json::parse(read_file(file)).value("settings", Json::object());
    for (const auto& [key, mine] :
         std::map<std::string, Json>{{"norms", options_.norms}, {"seed", run_.seed}, {"filters", options_.filters}}) {
      if (other.value(key, mine) == mine) continue;
      fail("--refine {}: that grid was made with {} {}, this one has {}. Give both the same.", refine_, key,
           other[key].dump(), mine.dump());
    }
  }

  // One point, to say how long all of them will take.
  void say_time(const AnalysedModels& opened, const PointMeasure& measure, int64_t images) const {
    LandscapeOptions one = options_;
    one.points = 2;
    one.directions = 1;
    LandscapeJob trial({opened.models[0]}, measure, one, 1);
    struct Nothing : EventSink {
      void emit(const Event&) override {}
      void rewind(int64_t) override {}
    } events;
    trial.step(0, 0, events);
    const double points =
        static_cast<double>(opened.models.size()) * options_.directions * options_.points * options_.points;
    log::info("{:.0f} points of {} images each, about {:.1f} minutes.", points, images,
              points * trial.seconds_a_point() / 60);
  }

  static std::string file_name(const std::string& model, int pair) { return fmt::format("{}-{}", model, pair + 1); }

  GridScene scene(const AnalysedModels& opened, size_t m, int pair, int64_t images, const std::string& norms) const {
    const std::string& name = opened.models[m].name;
    return {.file = file_name(name, pair),
            .title = name + "   " + opened.group(m),
            .subtitle = fmt::format("norms {}", norms),
            .group = opened.group(m),
            .facts = fmt::format("of {} ({}) on {} test images of {}; norms {}, directions {} of {}{}, seed {}.", name,
                                 opened.group(m), images, opened.data_name, norms, pair + 1, options_.directions,
                                 options_.filters ? ", filter-normalised" : "", run_.seed)};
  }

  Json describe_grids(const Invocation& invocation, Session& session, const LandscapeJob& job,
                      const AnalysedModels& opened, size_t m, std::vector<ReportPicture>& pictures) const {
    const std::filesystem::path folder = session.directory().path();
    const std::string& name = opened.models[m].name;
    Json grids = Json::array();
    for (int pair = 0; pair < options_.directions; ++pair) {
      const LossGrid grid = job.grid(static_cast<int>(m), pair);
      const GridScene drawn = scene(opened, m, pair, opened.data->test_size(), options_.norms);
      for (ReportPicture& picture : draw_landscape(folder, grid, drawn)) pictures.push_back(std::move(picture));
      if (vtk_) write_file(folder / (drawn.file + ".vtk"), grid_vtk(grid, drawn.title));
      const LandscapeNumbers numbers = numbers_of(grid);
      grids.push_back(numbers.to_json());
      invocation.print(fmt::format(
          "{:<28} {:<9} directions {}: loss {:.4f}, {:.1f} % of the grid within 1 of it, convex for {:.2f}, "
          "steepness {:.3g}{}",
          name, opened.group(m), pair + 1, numbers.centre, 100 * numbers.flat_share, numbers.convex_radius,
          numbers.steepness, numbers.holes > 0 ? fmt::format(", {} holes", numbers.holes) : ""));
    }
    return {{"name", name},
            {"topology", opened.group(m)},
            {"width", opened.topology[m].width},
            {"depth", opened.topology[m].depth},
            {"grids", grids},
            {"spread", spread(grids)}};
  }

  Json describe_spectrum(const Invocation& invocation, Session& session, const SpectrumJob& job,
                         const AnalysedModels& opened, size_t m, std::vector<ReportPicture>& pictures) const {
    const SpectrumResult found = job.result();
    const std::string& name = opened.models[m].name;
    invocation.print(fmt::format(
        "{:<28} {:<9} curvature: largest {:.4g} (within {:.2g}), smallest {:.4g}, ratio {:.3g}{}", name,
        opened.group(m), found.eigenvalues.front(), found.residuals.front(), found.smallest, found.ratio(),
        spectrum_.probes > 0 ? fmt::format(", trace {:.4g} ± {:.2g}", found.trace, found.trace_error) : ""));
    const double width = 0.01 * (found.eigenvalues.front() - found.smallest);
    Curve curve{"density", {}};
    for (const auto& [place, density] : found.smoothed(width, 400)) {
      curve.points.emplace_back(place, std::log10(std::max(density, kLeastDensity)));
    }
    if (curve.points.empty()) return found.to_json();
    FigurePanel panel{name + "   " + opened.group(m), "eigenvalue", "log10 of the density", {{curve}}};
    panel.plot.width = 520, panel.plot.height = 240, panel.plot.whole = false;
    write_file(session.directory().path() / (name + "-density.csv"), density_csv(found));
    if (const auto picture = draw_figure({panel})) {
      write_file(session.directory().path() / (name + "-density.svg"), *picture);
      pictures.push_back(
          {.group = opened.group(m),
           .file = name + "-density.svg",
           .caption = fmt::format("Spectral density of the Hessian of {} ({}) over {} test images of {}, {} products, "
                                  "{} probes, Gaussians of width {:.3g}, seed {}.",
                                  name, opened.group(m), spectrum_.images, opened.data_name, spectrum_.products,
                                  spectrum_.density, width, run_.seed)});
    }
    return found.to_json();
  }

  static std::string density_csv(const SpectrumResult& found) {
    std::string text = "eigenvalue,weight\n";
    for (size_t i = 0; i < found.nodes.size(); ++i) text += fmt::format("{},{}\n", found.nodes[i], found.weights[i]);
    return text;
  }

  Json describe_ratios(const Invocation& invocation, Session& session, const LandscapeJob& job,
                       const AnalysedModels& opened, size_t m, std::vector<ReportPicture>& pictures) const {
    Json all = Json::array();
    for (int pair = 0; pair < options_.directions; ++pair) {
      const LossGrid grid = job.grid(static_cast<int>(m), pair);
      GridScene drawn = scene(opened, m, pair, spectrum_.images, "running");
      drawn.file += "-ratio";
      write_file(session.directory().path() / (drawn.file + ".csv"), grid_csv(grid, "ratio", "largest"));
      const std::string what = "|smallest / largest| eigenvalue of the Hessian";
      for (ReportPicture& picture : draw_quantity(session.directory().path(), grid, drawn, what)) {
        picture.surface.clear();
        if (picture.file.ends_with("-map.svg")) pictures.push_back(std::move(picture));
      }
      double sum = 0, count = 0;
      for (const double ratio : grid.loss) {
        if (std::isfinite(ratio)) sum += ratio, ++count;
      }
      invocation.print(fmt::format("{:<28} {:<9} directions {}: ratio {:.3g} at the centre, {:.3g} on average",
                                   opened.models[m].name, opened.group(m), pair + 1, grid.centre(), sum / count));
      all.push_back({{"centre", grid.centre()}, {"mean", count > 0 ? Json(sum / count) : Json()}});
    }
    return all;
  }

  // Mean and standard deviation over the pairs of directions.
  static Json spread(const Json& grids) {
    Json all = Json::object();
    for (const char* key : {"flat_share", "convex_radius", "steepness"}) {
      double sum = 0, squares = 0, count = 0;
      for (const Json& grid : grids) {
        if (!grid[key].is_number()) continue;
        const double value = grid[key].get<double>();
        sum += value, squares += value * value, ++count;
      }
      if (count == 0) continue;
      const double mean = sum / count;
      all[key] = {
          {"mean", mean},
          {"deviation", count > 1 ? std::sqrt(std::max(0.0, (squares - count * mean * mean) / (count - 1))) : 0}};
    }
    return all;
  }

  LandscapeOptions options_;
  std::vector<std::string> models_;
  std::string refine_;
  bool vtk_ = false, curvature_ = false;
  int curvature_points_ = 0;
  SpectrumOptions spectrum_;
  DataOptions data_ = data_of_the_model();
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze landscape", "the loss around trained models, over planes of weights",
                 [] { return std::make_unique<AnalyzeLandscapeVerb>(); });

}  // namespace
}  // namespace nascent
