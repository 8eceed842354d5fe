// nascent analyze line: the loss on the straight line between two trained models.
#include <cmath>

#include "nascent/analysis/line.h"
#include "nascent/cli/analysed_models.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/run/figure.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

class AnalyzeLineVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL MODEL"; }
  bool resumable() const override { return true; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    table.section("line", "")
        .add("models", models_, "the two model files or run folders; they may stand after the verb too");
    data_.declare(table);
    run_.declare(table);
  }

  void resolve(const Invocation& invocation) override {
    models_.insert(models_.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    if (models_.size() != 2) {
      fail(
          "nascent analyze line: two models were expected, as in 'nascent analyze line runs/train-1 runs/train-2'; "
          "there are {}.",
          models_.size());
    }
    settle_data(models_, data_);
  }

  Json run(const Invocation& invocation) override {
    run_.apply();
    const AnalysedModels opened = open_models(models_, data_, options_.images);
    const auto first = load_model(opened.models[0].path).network, second = load_model(opened.models[1].path).network;
    check_same_shape(*first, *second, opened.models[0].name, opened.models[1].name);
    const bool recalibrated = std::count(options_.norms.begin(), options_.norms.end(), "recalibrated") > 0;
    LineJob job(first, second, opened.test_images(), opened.calibration(recalibrated, options_.calibration), options_);
    Session session(session_start(invocation), *invocation.options, run_);
    session.begin("line", {{"Data set", opened.data_name}, {"Models", join(models_, ", ")}});
    Json result = {{"models", {opened.models[0].name, opened.models[1].name}}, {"curves", Json::array()}};
    session.run([&] {
      session.run(job);
      std::vector<LineCurve> curves;
      for (const std::string& norms : options_.norms) {
        curves.push_back(job.curve(norms));
        result["curves"].push_back(describe(invocation, curves.back()));
      }
      write_file(session.directory().path() / "line.csv", line_csv(curves));
      draw(session.directory().path(), curves, opened);
      session.conclude(result);
    });
    invocation.print(fmt::format("Report: {}", session.directory().report_path().string()));
    result["directory"] = session.directory().path().string();
    return result;
  }

 private:
  static Json describe(const Invocation& invocation, const LineCurve& curve) {
    const double barrier = curve.barrier();
    invocation.print(fmt::format("norms {:<13} loss {:.4f} to {:.4f}, highest {:.4f}{}", curve.norms,
                                 curve.loss.front(), curve.loss.back(),
                                 *std::max_element(curve.loss.begin(), curve.loss.end()),
                                 std::isnan(barrier) ? "" : fmt::format(", barrier {:.4f}", barrier)));
    return {{"norms", curve.norms},
            {"barrier", std::isnan(barrier) ? Json() : Json(barrier)},
            {"t", curve.places},
            {"loss", curve.loss},
            {"top1", curve.top1}};
  }

  void draw(const std::filesystem::path& folder, const std::vector<LineCurve>& curves,
            const AnalysedModels& opened) const {
    FigurePanel loss{
        fmt::format("From {} (0) to {} (1)", opened.models[0].name, opened.models[1].name), "t", "test loss", {}};
    FigurePanel top1{"", "t", "test accuracy (%)", {}};
    for (FigurePanel* panel : {&loss, &top1}) {
      panel->plot.width = 360, panel->plot.height = 240, panel->plot.whole = false;
      for (const LineCurve& curve : curves) {
        Curve drawn{"norms " + curve.norms, {}};
        const std::vector<double>& values = panel == &loss ? curve.loss : curve.top1;
        for (size_t i = 0; i < values.size(); ++i) drawn.points.emplace_back(curve.places[i], values[i]);
        panel->plot.curves.push_back(std::move(drawn));
      }
    }
    const auto picture = draw_figure({loss, top1});
    if (!picture) return;
    write_file(folder / "line.svg", *picture);
    write_pictures(folder,
                   {{.group = "Line",
                     .file = "line.svg",
                     .caption = fmt::format("Loss and accuracy on the line between two models, on {} test "
                                            "images of {}; recalibrated norms saw {} training images.",
                                            opened.data->test_size(), opened.data_name, options_.calibration)}});
  }

  LineOptions options_;
  std::vector<std::string> models_;
  DataOptions data_ = data_of_the_model();
  RunOptions run_;
};

NASCENT_REGISTER(Verb, "analyze line", "the loss on the straight line between two trained models",
                 [] { return std::make_unique<AnalyzeLineVerb>(); });

}  // namespace
}  // namespace nascent
