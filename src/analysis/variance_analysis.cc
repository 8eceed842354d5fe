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

std::vector<ReportPicture> draw_variance(const VarianceAnalysisOptions& options, const AnalysedModels& opened,
                                         const LandscapeJob& job, size_t model, int pair,
                                         const std::filesystem::path& folder) {
  const std::string &name = opened.models[model].name, group = opened.group(model);
  const LossGrid grid = job.grid(static_cast<int>(model), pair);
  const GridScene scene{
      .file = fmt::format("{}-{}", name, pair + 1),
      .title = name + "   " + group,
      .subtitle = "√g, norms running",
      .group = group,
      .facts = opened.facts(model, opened.data->test_size(), "running", pair, options.grid, options.run.seed)};
  write_file(folder / (scene.file + ".csv"), grid_csv(grid, "deviation", "noise_scale"));
  return draw_quantity(folder, grid, scene, "Root of the gradient variance");
}

}  // namespace

VarianceAnalysisOptions::VarianceAnalysisOptions() {
  grid.points = 11;
  grid.images = 256;
}

void VarianceAnalysisOptions::declare(OptionTable& table) {
  grid.declare(table);
  table.section("landscape", "").add("models", models, "model files or run folders; also accepted as arguments");
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
    for (const size_t model : opened.by_width()) {
      result["models"].push_back(describe_variance_at(opened, model, grids.images, folder));
      for (int pair = 0; pair < options.grid.directions; ++pair) {
        for (ReportPicture& picture : draw_variance(options, opened, grids.job, model, pair, folder)) {
          pictures.push_back(std::move(picture));
        }
      }
    }
    write_pictures(folder, pictures);
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_variance(const Json& result) {
  std::vector<std::string> lines;
  for (const Json& model : result["models"]) {
    lines.push_back(fmt::format("{:<28} {:<9} variance {:.4g}, its root {:.4g}, noise scale {:.4g}",
                                model["name"].get<std::string>(), model["topology"].get<std::string>(),
                                model["variance"].get<double>(), model["deviation"].get<double>(),
                                model["noise_scale"].get<double>()));
  }
  return lines;
}

}  // namespace nascent
