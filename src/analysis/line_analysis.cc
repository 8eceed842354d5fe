#include "nascent/analysis/line_analysis.h"

#include <algorithm>
#include <cmath>

#include "nascent/analysis/analysed_models.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/picture_files.h"
#include "nascent/run/picture_section.h"

namespace nascent {
namespace {

Json curve_json(const LineCurve& curve) {
  const double barrier = curve.barrier();
  return {{"norms", curve.norms},
          {"barrier", std::isnan(barrier) ? Json() : Json(barrier)},
          {"t", curve.places},
          {"loss", curve.loss},
          {"top1", curve.top1}};
}

FigurePanel line_panel(const std::string& title, const std::string& y, const std::vector<LineCurve>& curves,
                       std::vector<double> LineCurve::*which) {
  FigurePanel panel{title, "t", y, {}};
  panel.plot.width = 360, panel.plot.height = 240, panel.plot.whole = false;
  for (const LineCurve& curve : curves) {
    Curve drawn{"norms " + curve.norms, {}};
    const std::vector<double>& values = curve.*which;
    for (size_t i = 0; i < values.size(); ++i) drawn.points.emplace_back(curve.places[i], values[i]);
    panel.plot.curves.push_back(std::move(drawn));
  }
  return panel;
}

// `calibrated`: training images that recalibrated norms saw; 0: no curve has such norms.
void draw_line(const AnalysedModels& opened, const std::vector<LineCurve>& curves, int64_t calibrated,
               const std::filesystem::path& folder) {
  const std::string title = fmt::format("From {} (0) to {} (1)", opened.models[0].name, opened.models[1].name);
  const std::vector panels = {line_panel(title, "test loss", curves, &LineCurve::loss),
                              line_panel("", "test accuracy (%)", curves, &LineCurve::top1)};
  if (!write_picture(folder / "line", panels)) return;
  write_pictures(folder,
                 {{.group = "Line",
                   .file = "line.svg",
                   .caption = fmt::format(
                       "Loss and accuracy on the line between two models, on {} test images of {}{}.",
                       opened.data->test_size(), opened.data_name,
                       calibrated > 0 ? fmt::format("; recalibrated norms saw {} training images", calibrated) : "")}});
}

}  // namespace

void LineAnalysisOptions::declare(OptionTable& table) {
  line.declare(table);
  table.section("line", "").add("models", models, "the two model files or run folders; also accepted as arguments");
  data.declare(table);
  run.declare(table);
}

void LineAnalysisOptions::resolve() {
  line.check();
  if (models.size() != 2) {
    fail(
        "nascent analyze line: two models were expected, as in 'nascent analyze line runs/train-1 runs/train-2'; "
        "there are {}.",
        models.size());
  }
  settle_data(models, data);
}

Json analyse_line(const LineAnalysisOptions& options, Session& session) {
  options.run.apply();
  const LineOptions& line = options.line;
  const AnalysedModels opened = open_models(options.models, options.data, {line.images, LineOptions{}.images});
  const auto first = load_model(opened.models[0].path).network, second = load_model(opened.models[1].path).network;
  check_same_shape(*first, *second, opened.models[0].name, opened.models[1].name);
  const bool recalibrated = std::count(line.norms.begin(), line.norms.end(), "recalibrated") > 0;
  const ImageBatches calibration = opened.calibration(recalibrated, line.calibration);
  LineJob job(first, second, opened.test_images(), calibration, line);
  session.begin("line", {{"Data set", opened.data_name}, {"Models", join(options.models, ", ")}});
  Json result = {{"models", {opened.models[0].name, opened.models[1].name}}, {"curves", Json::array()}};
  session.run([&] {
    session.run(job);
    std::vector<LineCurve> curves;
    for (const std::string& norms : line.norms) {
      curves.push_back(job.curve(norms));
      result["curves"].push_back(curve_json(curves.back()));
    }
    write_file(session.directory().path() / "line.csv", line_csv(curves));
    draw_line(opened, curves, count_images(calibration), session.directory().path());
    session.conclude(result);
  });
  return result;
}

std::vector<std::string> describe_line(const Json& result) {
  std::vector<std::string> lines;
  for (const Json& curve : result["curves"]) {
    const Json& barrier = curve["barrier"];
    const Json& loss = curve["loss"];
    double highest = -INFINITY;
    for (const Json& value : loss) highest = std::max(highest, value.get<double>());
    lines.push_back(fmt::format("norms {:<13} loss {:.4f} to {:.4f}, highest {:.4f}{}",
                                curve["norms"].get<std::string>(), loss.front().get<double>(),
                                loss.back().get<double>(), highest,
                                barrier.is_null() ? "" : fmt::format(", barrier {:.4f}", barrier.get<double>())));
  }
  return lines;
}

}  // namespace nascent
