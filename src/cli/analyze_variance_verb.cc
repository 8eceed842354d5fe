// nascent analyze variance: how much the gradients of single images differ, at trained models and around them.
#include <cmath>

#include "nascent/analysis/gradient_variance.h"
#include "nascent/analysis/landscape_pictures.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"

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
    settle_data(models_, data_);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(models_, data_, options_.images);
    const ImageBatches images = opened.test_images();
    const auto measure = [&](Network& network) {
      const GradientVariance found = gradient_variance(network, images);
      return std::pair(std::sqrt(found.variance), found.noise_scale());
    };
    LandscapeJob job(opened.models, measure, options_, static_cast<uint64_t>(run_.seed));
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("variance", {{"Data set", opened.data_name}, {"Models", join(models_, ", ")}});
    Json result = {{"models", Json::array()}};
    session.run([&] {
      session.run(job);
      std::vector<ReportPicture> pictures;
      for (const size_t m : opened.by_width()) {
        result["models"].push_back(describe_centre(invocation, session, opened, m, images));
        for (int pair = 0; pair < options_.directions; ++pair) {
          draw(session.directory().path(), job.grid(static_cast<int>(m), pair), opened, m, pair, pictures);
        }
      }
      write_pictures(session.directory().path(), pictures);
      session.conclude(result);
    });
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  static Json describe_centre(const Invocation& invocation, Session& session, const AnalysedModels& opened, size_t m,
                              const ImageBatches& images) {
    const std::string& name = opened.models[m].name;
    const GradientVariance centre = gradient_variance(*load_model(opened.models[m].path).network, images);
    write_file(session.directory().path() / (name + "-layers.csv"), layer_csv(centre));
    invocation.print(fmt::format("{:<28} {:<9} variance {:.4g}, its root {:.4g}, noise scale {:.4g}", name,
                                 opened.group(m), centre.variance, std::sqrt(centre.variance), centre.noise_scale()));
    return {{"name", name},
            {"topology", opened.group(m)},
            {"width", opened.topology[m].width},
            {"depth", opened.topology[m].depth},
            {"variance", centre.variance},
            {"deviation", std::sqrt(centre.variance)},
            {"noise_scale", centre.noise_scale()},
            {"layers", centre.layers}};
  }

  void draw(const std::filesystem::path& folder, const LossGrid& grid, const AnalysedModels& opened, size_t m, int pair,
            std::vector<ReportPicture>& pictures) const {
    const std::string& name = opened.models[m].name;
    const GridScene scene{
        .file = fmt::format("{}-{}", name, pair + 1),
        .title = name + "   " + opened.group(m),
        .subtitle = "√g, norms running",
        .group = opened.group(m),
        .facts = fmt::format("of {} ({}) on {} test images of {}; norms running, directions {} of {}{}, seed {}.", name,
                             opened.group(m), opened.data->test_size(), opened.data_name, pair + 1, options_.directions,
                             options_.filters ? ", filter-normalised" : "", run_.seed)};
    write_file(folder / (scene.file + ".csv"), grid_csv(grid, "deviation", "noise_scale"));
    for (ReportPicture& picture : draw_quantity(folder, grid, scene, "Root of the gradient variance")) {
      pictures.push_back(std::move(picture));
    }
  }

  LandscapeOptions options_;
  std::vector<std::string> models_;
  DataOptions data_ = data_of_the_model();
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze variance",
                 "how much the gradients of single images differ, at trained models and around them",
                 [] { return std::make_unique<AnalyzeVarianceVerb>(); });

}  // namespace
}  // namespace nascent
