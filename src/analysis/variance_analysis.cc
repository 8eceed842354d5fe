#include "nascent/analysis/variance_analysis.h"

#include <cmath>

#include "nascent/analysis/analysed_models.h"
#include "nascent/analysis/gradient_variance.h"
#include "nascent/analysis/landscape_pictures.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

Json describe_variance_at(const AnalysedModels& opened, size_t model, const ImageBatches& images,
                          const std::filesystem::path& folder) {
  const GradientVariance centre = gradient_variance(*load_model(opened.models[model].path).network, images);
  write_file(folder / (opened.models[model].name + "-layers.csv"), layer_csv(centre));
  Json described = opened.describe(model);
  described.update({{"variance", centre.variance},
                    {"deviation", std::sqrt(centre.variance)},
                    {"noise_scale", centre.noise_scale()},
                    {"layers", centre.layers}});
  return described;
}

GridScene variance_scene(const VarianceAnalysisOptions& options, const AnalysedModels& opened, const LossGrid& grid,
                         size_t model, int pair) {
  const std::string &name = opened.models[model].name, group = opened.group(model);
  const std::string facts =
      opened.facts(model, opened.data->test_size(), "running", pair, options.grid, options.run.seed);
  return {.file = fmt::format("{}-{}", name, pair + 1),
          .title = name + "   " + group,
          .subtitle = "√g, norms running",
          .group = group,
          .facts =
              fmt::format("{} In numbers: √g {:.4g} at the centre{}.", facts, grid.centre(), holes_text(grid.holes()))};
}

// The grids of one model: tables, pictures, and their part of the result.
Json describe_grids_of(const VarianceAnalysisOptions& options, const AnalysedModels& opened, const LandscapeJob& job,
                       size_t model, const QuantityScale& scale, const std::filesystem::path& folder,
                       std::vector<ReportPicture>& pictures) {
  Json grids = Json::array();
  for (int pair = 0; pair < options.grid.directions; ++pair) {
    const LossGrid grid = job.grid(static_cast<int>(model), pair);
    const GridScene scene = variance_scene(options, opened, grid, model, pair);
    write_file(folder / (scene.file + ".csv"), grid_csv(grid, "deviation", "noise_scale"));
    if (options.vtk) write_file(folder / (scene.file + ".vtk"), grid_vtk(grid, scene.title, "deviation"));
    for (ReportPicture& picture : draw_quantity(folder, grid, scene, "Root of the gradient variance", scale)) {
      pictures.push_back(std::move(picture));
    }
    grids.push_back({{"centre", grid.centre()}, {"holes", grid.holes()}});
  }
  return grids;
}

}  // namespace

VarianceAnalysisOptions::VarianceAnalysisOptions() {
  grid.points = 11;
  grid.images = 256;
}

void VarianceAnalysisOptions::declare(OptionTable& table) {
  grid.declare(table);
  auto section = table.section("landscape", "");
  section.add("models", models, "model files or run folders; also accepted as arguments");
  section.add("vtk", vtk, "also write each surface as a ParaView file");
  data.declare(table);
  run.declare(table);
}

void VarianceAnalysisOptions::resolve() {
  grid.check();
  if (grid.norms != "running")
    fail("--norms {}: gradients of single images need running statistics, which are constants.", grid.norms);
  settle_data(models, data);
}

namespace {

// What is measured where, with all that it looks at.
struct VarianceGrids {
  explicit VarianceGrids(const VarianceAnalysisOptions& options)
      : opened(open_models(options.models, options.data, {options.grid.images, VarianceAnalysisOptions{}.grid.images})),
        images(opened.test_images()),
        job(
            opened.models, [this](Network& network) { return measure(network); }, options.grid,
            static_cast<uint64_t>(options.run.seed)) {}
  VarianceGrids(const VarianceGrids&) = delete;
  VarianceGrids& operator=(const VarianceGrids&) = delete;

  std::pair<double, double> measure(Network& network) const {
    const GradientVariance found = gradient_variance(network, images);
    return {std::sqrt(found.variance), found.noise_scale()};
  }

  AnalysedModels opened;
  ImageBatches images;
  LandscapeJob job;
};

NASCENT_REGISTER(cluster::Helper, "variance", "gradient variances at points of grids", [](const Json& opening) {
  const auto all = std::make_shared<VarianceGrids>(farmed_options<VarianceAnalysisOptions>(opening));
  return helper_at({all, &all->job}, all->opened.digest());
});

}  // namespace

Json analyse_variance(const VarianceAnalysisOptions& options, Session& session) {
  options.run.apply();
  VarianceGrids grids(options);
  const AnalysedModels& opened = grids.opened;
  check_ranks_for(grids.job, "points of grids");
  session.begin("variance", {{"Data set", opened.data_name}, {"Models", join(options.models, ", ")}});
  Json result = {{"models", Json::array()}};
  session.run([&] {
    run_farmed(grids.job, farm_opening("variance", options, opened.digest(), session),
               [&](Job& job) { session.run(job); });
    const std::filesystem::path folder = session.directory().path();
    std::vector<ReportPicture> pictures;
    const QuantityScale scale = common_scale(grids.job.grids());
    for (const size_t model : opened.by_width()) {
      Json described = describe_variance_at(opened, model, grids.images, folder);
      described["grids"] = describe_grids_of(options, opened, grids.job, model, scale, folder, pictures);
      result["models"].push_back(std::move(described));
    }
    write_pictures(folder, pictures);
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_variance(const Json& result) {
  std::vector<std::string> lines;
  for (const Json& model : result["models"]) {
    int64_t holes = 0;
    for (const Json& grid : model["grids"]) holes += grid["holes"].get<int64_t>();
    lines.push_back(fmt::format("{:<28} {:<9} variance {:.4g}, its root {:.4g}, noise scale {:.4g}{}",
                                model["name"].get<std::string>(), model["topology"].get<std::string>(),
                                model["variance"].get<double>(), model["deviation"].get<double>(),
                                model["noise_scale"].get<double>(), holes_text(holes)));
  }
  return lines;
}

}  // namespace nascent
