// nascent analyze landscape: the loss around trained models, over planes of weights, and its curvature.
#include <cmath>

#include "nascent/analysis/job_sequence.h"
#include "nascent/analysis/landscape.h"
#include "nascent/analysis/spectrum.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

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
    section.add("curvature", curvature_, "eigenvalues and trace of the Hessian at each model too");
    spectrum_.declare(table);
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    models_.insert(models_.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(models_, data_, options_.images);
    const ImageBatches images = load_batches(*opened.data->testing(), *opened.first);
    ImageBatches calibration;
    if (options_.norms == "recalibrated") {
      calibration = load_batches(*opened.data->evaluation(opened.data->all()), *opened.first, options_.calibration);
    }
    say_time(opened, images, calibration);
    const auto job = std::make_shared<LandscapeJob>(opened.models, loss_measure(images, calibration, options_.norms),
                                                    options_, static_cast<uint64_t>(run_.seed), known(opened));
    std::vector<std::shared_ptr<Job>> jobs = {job};
    std::vector<std::shared_ptr<SpectrumJob>> spectra;
    if (curvature_) spectra = spectrum_jobs(opened);
    jobs.insert(jobs.end(), spectra.begin(), spectra.end());
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("landscape", {{"Data set", data_.name}, {"Models", join(models_, ", ")}});
    JobSequence sequence("landscape", jobs);
    session.run(sequence);
    return conclude(invocation, session, *job, spectra, opened, count_images(images));
  }

 private:
  std::vector<std::shared_ptr<SpectrumJob>> spectrum_jobs(const AnalysedModels& opened) const {
    const AnalysedModels seen = open_models(models_, data_, spectrum_.images);
    const ImageBatches images = load_batches(*seen.data->testing(), *seen.first);
    std::vector<std::shared_ptr<SpectrumJob>> jobs;
    for (const LandscapeModel& model : opened.models) {
      jobs.push_back(
          std::make_shared<SpectrumJob>(model_hessian(model.path, images, differentiation(spectrum_.products)),
                                        hessian_size(model.path, images), spectrum_, static_cast<uint64_t>(run_.seed)));
    }
    return jobs;
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
    return all;
  }

  // One point, to say how long all of them will take.
  void say_time(const AnalysedModels& opened, const ImageBatches& images, const ImageBatches& calibration) const {
    LandscapeOptions one = options_;
    one.points = 2;
    one.directions = 1;
    LandscapeJob trial({opened.models[0]}, loss_measure(images, calibration, options_.norms), one, 1);
    struct Nothing : EventSink {
      void emit(const Event&) override {}
      void rewind(int64_t) override {}
    } events;
    trial.step(0, 0, events);
    const double points =
        static_cast<double>(opened.models.size()) * options_.directions * options_.points * options_.points;
    log::info("{:.0f} points of {} images each, about {:.1f} minutes.", points, count_images(images),
              points * trial.seconds_a_point() / 60);
  }

  static std::string file_name(const std::string& model, int pair) { return fmt::format("{}-{}", model, pair + 1); }

  std::string caption(const std::string& what, const std::string& model, const std::string& topology, int pair,
                      int64_t images) const {
    return fmt::format("{} of {} ({}) on {} test images of {}; norms {}, directions {} of {}{}, seed {}.", what, model,
                       topology, images, data_.name, options_.norms, pair + 1, options_.directions,
                       options_.filters ? ", filter-normalised" : "", run_.seed);
  }

  static PicturePanel panel(const LossGrid& grid, GridPlot::Kind kind, const std::string& title, bool accuracy,
                            bool log) {
    GridPlot plot{.kind = kind, .x = grid.places, .y = grid.places, .values = accuracy ? grid.top1 : grid.loss};
    if (log) {
      for (double& value : plot.values) value = std::log10(value);
    } else if (!accuracy) {
      plot.most = grid.centre() + 10;  // what lies beyond is as good as infinite
    }
    return {title, "alpha", "beta", script_of(plot)};
  }

  void draw(const std::filesystem::path& folder, const LossGrid& grid, const std::string& name,
            const std::string& topology, int pair, int64_t images, std::vector<ReportPicture>& pictures) const {
    using Kind = GridPlot::Kind;
    const std::string file = file_name(name, pair);
    write_file(folder / (file + ".csv"), grid_csv(grid));
    if (vtk_) write_file(folder / (file + ".vtk"), grid_vtk(grid, name));
    const std::vector<std::pair<std::string, std::vector<PicturePanel>>> drawn = {
        {"Loss",
         {panel(grid, Kind::contour, name + "  " + topology, false, false),
          panel(grid, Kind::heat, "norms " + options_.norms, false, false)}},
        {"Log-loss",
         {panel(grid, Kind::contour, name + "  " + topology, false, true),
          panel(grid, Kind::heat, "norms " + options_.norms, false, true)}},
        {"Accuracy", {panel(grid, Kind::heat, name + "  " + topology, true, false)}},
        {"Surface", {panel(grid, Kind::surface, name + "  " + topology, false, true)}}};
    for (const auto& [what, panels] : drawn) {
      std::string kind = what;
      kind[0] = static_cast<char>(std::tolower(kind[0]));
      const auto picture = draw_picture(panels);
      if (!picture) {
        log::warning("gnuplot could not be run, so there are no pictures, only tables.");
        return;
      }
      const std::string svg = fmt::format("{}-{}.svg", file, kind);
      write_file(folder / svg, *picture);
      if (const auto png = draw_png(panels[0].script)) write_file(folder / fmt::format("{}-{}.png", file, kind), *png);
      pictures.push_back({topology, svg, caption(what == "Surface" ? "Log-loss" : what, name, topology, pair, images),
                          what == "Surface" ? file + ".csv" : ""});
    }
  }

  void draw_density(const std::filesystem::path& folder, const SpectrumResult& found, const std::string& name,
                    const std::string& topology, std::vector<ReportPicture>& pictures) const {
    if (found.nodes.empty()) return;
    const double width = 0.005 * (found.eigenvalues.front() - found.smallest);
    FigurePanel panel{name + "  " + topology, "eigenvalue", "log10 of the density", {}};
    Curve curve{"density", {}};
    for (const auto& [place, density] : found.smoothed(width, 400)) {
      if (density > 1e-12) curve.points.emplace_back(place, std::log10(density));
    }
    panel.plot.curves = {curve};
    const auto picture = draw_figure({panel});
    if (!picture) return;
    write_file(folder / (name + "-density.svg"), *picture);
    pictures.push_back(
        {topology, name + "-density.svg",
         fmt::format("Spectral density of the Hessian of {} ({}), {} products, Gaussians of width {:.3g}, seed {}.",
                     name, topology, spectrum_.products, width, run_.seed),
         ""});
  }

  Json conclude(const Invocation& invocation, Session& session, const LandscapeJob& job,
                const std::vector<std::shared_ptr<SpectrumJob>>& spectra, const AnalysedModels& opened,
                int64_t images) const {
    const std::filesystem::path folder = session.directory().path();
    Json result = Json::object();
    std::vector<ReportPicture> pictures;
    for (size_t m = 0; m < opened.models.size(); ++m) {
      const std::string& name = opened.models[m].name;
      Json grids = Json::array();
      for (int pair = 0; pair < options_.directions; ++pair) {
        const LossGrid grid = job.grid(static_cast<int>(m), pair);
        draw(folder, grid, name, opened.groups[m], pair, images, pictures);
        const LandscapeNumbers numbers = numbers_of(grid);
        grids.push_back(numbers.to_json());
        invocation.print(fmt::format(
            "{:<28} {:<9} directions {}: loss {:.4f}, {:.1f} % of the grid within 1 of it, convex for {:.2f}, "
            "steepness "
            "{:.3g}{}",
            name, opened.groups[m], pair + 1, numbers.centre, 100 * numbers.flat_share, numbers.convex_radius,
            numbers.steepness, numbers.holes > 0 ? fmt::format(", {} holes", numbers.holes) : ""));
      }
      result["models"].push_back(
          {{"name", name}, {"topology", opened.groups[m]}, {"grids", grids}, {"spread", spread(grids)}});
    }
    for (size_t m = 0; m < spectra.size(); ++m) {
      const SpectrumResult found = spectra[m]->result();
      result["models"][m]["curvature"] = found.to_json();
      invocation.print(fmt::format(
          "{:<28} curvature: largest {:.4g} (within {:.2g}), smallest {:.4g}, ratio {:.3g}, trace {:.4g} ± {:.2g}",
          opened.models[m].name, found.eigenvalues.front(), found.residuals.front(), found.smallest, found.ratio(),
          found.trace, found.trace_error));
      draw_density(folder, found, opened.models[m].name, opened.groups[m], pictures);
    }
    write_pictures(folder, pictures);
    session.conclude(result);
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = folder.string();
    return result;
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
  SpectrumOptions spectrum_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze landscape", "the loss around trained models, over planes of weights",
                 [] { return std::make_unique<AnalyzeLandscapeVerb>(); });

}  // namespace
}  // namespace nascent
