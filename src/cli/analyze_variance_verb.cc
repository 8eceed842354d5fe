// nascent analyze variance: how much the gradients of single images differ, at trained models and around them.
#include <cmath>

#include "nascent/analysis/gradient_variance.h"
#include "nascent/analysis/landscape.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

class AnalyzeVarianceVerb : public Verb {
 public:
  AnalyzeVarianceVerb() {
    options_.points = 11;
    options_.images = 256;
  }
  std::string arguments() const override { return "MODEL..."; }
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("landscape", "")
        .add("models", models_, "model files or run folders; they may stand after the verb too");
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    models_.insert(models_.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    if (options_.norms != "running")
      fail("--norms {}: gradients of single images need running statistics, which are constants.", options_.norms);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(models_, data_, options_.images);
    const ImageBatches images = load_batches(*opened.data->testing(), *opened.first);
    const auto measure = [&](Network& network) {
      const GradientVariance found = gradient_variance(network, images);
      return std::pair(std::sqrt(found.variance), found.noise_scale());
    };
    LandscapeJob job(opened.models, measure, options_, static_cast<uint64_t>(run_.seed));
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("variance", {{"Data set", data_.name}, {"Models", join(models_, ", ")}});
    session.run(job);
    return conclude(invocation, session, job, opened, images);
  }

 private:
  Json conclude(const Invocation& invocation, Session& session, const LandscapeJob& job, const AnalysedModels& opened,
                const ImageBatches& images) const {
    const std::filesystem::path folder = session.directory().path();
    Json result = Json::object();
    std::vector<ReportPicture> pictures;
    for (size_t m = 0; m < opened.models.size(); ++m) {
      const std::string& name = opened.models[m].name;
      const Model model = load_model(opened.models[m].path);
      const GradientVariance centre = gradient_variance(*model.network, images);
      write_file(folder / (name + "-layers.csv"), layer_csv(centre));
      invocation.print(fmt::format("{:<28} {:<9} variance {:.4g}, its root {:.4g}, noise scale {:.4g}", name,
                                   opened.groups[m], centre.variance, std::sqrt(centre.variance),
                                   centre.noise_scale()));
      result["models"].push_back({{"name", name},
                                  {"topology", opened.groups[m]},
                                  {"variance", centre.variance},
                                  {"deviation", std::sqrt(centre.variance)},
                                  {"noise_scale", centre.noise_scale()},
                                  {"layers", centre.layers}});
      for (int pair = 0; pair < options_.directions; ++pair) {
        draw(folder, job.grid(static_cast<int>(m), pair), name, opened.groups[m], pair, count_images(images), pictures);
      }
    }
    write_pictures(folder, pictures);
    session.conclude(result);
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = folder.string();
    return result;
  }

  void draw(const std::filesystem::path& folder, const LossGrid& grid, const std::string& name,
            const std::string& topology, int pair, int64_t images, std::vector<ReportPicture>& pictures) const {
    const std::string file = fmt::format("{}-{}", name, pair + 1);
    std::string csv = "alpha,beta,deviation,noise_scale\n";
    for (size_t i = 0; i < grid.loss.size(); ++i) {
      csv += fmt::format("{},{},{},{}\n", grid.places[i % grid.side()], grid.places[i / grid.side()], grid.loss[i],
                         grid.top1[i]);
    }
    write_file(folder / (file + ".csv"), csv);
    GridPlot plot{.kind = GridPlot::Kind::heat, .x = grid.places, .y = grid.places, .values = grid.loss};
    const PicturePanel heat{name + "  " + topology, "alpha", "beta", script_of(plot)};
    plot.kind = GridPlot::Kind::surface;
    const PicturePanel surface{"root of the gradient variance", "alpha", "beta", script_of(plot)};
    const auto picture = draw_picture({heat, surface});
    if (!picture) return;
    write_file(folder / (file + ".svg"), *picture);
    if (const auto png = draw_png(heat.script)) write_file(folder / (file + ".png"), *png);
    pictures.push_back(
        {topology, file + ".svg",
         fmt::format("Root of the gradient variance of {} ({}) on {} test images of {}, running norms, directions {} "
                     "of {}, seed {}.",
                     name, topology, images, data_.name, pair + 1, options_.directions, run_.seed),
         file + ".csv"});
  }

  LandscapeOptions options_;
  std::vector<std::string> models_;
  DataOptions data_;
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze variance",
                 "how much the gradients of single images differ, at trained models and around them",
                 [] { return std::make_unique<AnalyzeVarianceVerb>(); });

}  // namespace
}  // namespace nascent
