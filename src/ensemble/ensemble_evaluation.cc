#include "nascent/ensemble/ensemble_evaluation.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/ensemble/member_curve.h"
#include "nascent/ensemble/temperature.h"
#include "nascent/ensemble/tsne.h"
#include "nascent/nn/threads.h"

namespace nascent {

void EnsembleEvaluationOptions::declare(OptionTable& table) {
  auto section = table.section("eval", "Which images are scored, and what is told about them.");
  section.add("part", part, "part of the data set: test images, or those that training held out")
      .one_of({"test", "valid"});
  section.add("combine", combine, "what of the members is averaged; empty: as the ensemble says")
      .one_of({"", "probabilities", "logits"});
  section
      .add("calibrate", calibrate, "temperature fitted to held-out images: of every member before averaging, or after")
      .one_of({"none", "before", "after"});
  section.add("curve", curve, "error and loss by number of members, over all subsets or 200 random ones");
  section.add("tsne", tsne, "the members' predictions as points of a plane (t-SNE)");
  section.add("perplexity", perplexity, "of t-SNE").range(1, 1e6);
  section.add("corruptions", corruptions, "corruptions of severity 1 to 5 to repeat it under, by name; all: every one");
  data.declare(table);
  auto run = table.section("run", "Where and how a run happens.");
  run.add("seed", seed, "of the split, random subsets and t-SNE").at_least(0);
  run.add("threads", threads, "threads that compute; 0: one per core").range(0, 1024);
}

namespace {

void check_images(const Model& member, const ImageData& images) {
  if (!(images.shape() == member.input)) {
    fail(
        "The members take images of {} x {} x {} (channels, height, width); the data has {} x {} x {}. Name the data "
        "set they were trained on with --data, or set --eval-transforms.",
        member.input.channels, member.input.height, member.input.width, images.shape().channels, images.shape().height,
        images.shape().width);
  }
  if (images.classes() != static_cast<int>(member.class_names.size()))
    fail("The members know {} classes; the data has {}.", member.class_names.size(), images.classes());
}

class Evaluator {
 public:
  Evaluator(const EnsembleModel& model, const EnsembleEvaluationOptions& options)
      : model_(model),
        options_(options),
        how_(options.combine.empty() ? model.combine : combination(options.combine)) {}

  Json run() {
    const MemberPredictions found = predictions(options_.part == "valid", "");
    Json result = {{"members", found.members.size()},
                   {"parameters", model_.parameters()},
                   {"multiply_adds", model_.multiply_adds()}};
    const EnsembleFigures figures = ensemble_figures(found.members, found.labels, how_, model_.weights);
    result["top1"] = 100 - figures.error;
    result["figures"] = figures.to_json();
    if (options_.calibrate != "none") result["calibrated"] = calibrated(found);
    if (options_.curve) result["curve"] = curve(found);
    if (options_.tsne) result["tsne"] = plane(found);
    if (!options_.corruptions.empty()) result["corrupted"] = corrupted();
    return result;
  }

 private:
  // `corruption`: a transform that comes first, or "".
  MemberPredictions predictions(bool held_out, const std::string& corruption) const {
    return predict_members(model_, [&](const Model& member) {
      DataOptions data = options_.data;
      if (data.eval_transforms.empty()) data.eval_transforms = member.eval_transforms;
      if (!corruption.empty()) data.eval_transforms.insert(data.eval_transforms.begin(), corruption);
      const ImageData images(data, static_cast<uint64_t>(options_.seed), member.statistics);
      check_images(member, images);
      if (held_out && images.split().valid.empty())
        fail(
            "There are no held-out images: set --valid-fraction and --seed, or --split-file, to what the members were "
            "trained "
            "with.");
      return held_out ? images.evaluation(images.split().valid) : images.testing();
    });
  }

  Json calibrated(const MemberPredictions& found) const {
    const MemberPredictions held = predictions(true, "");
    Members members = found.members;
    std::vector<double> temperatures;
    if (options_.calibrate == "after") {
      temperatures.push_back(fitted_temperature(combine(held.members, how_, model_.weights), held.labels));
      members = {with_temperature(combine(found.members, how_, model_.weights), temperatures[0])};
    } else {
      for (size_t i = 0; i < members.size(); ++i) {
        temperatures.push_back(fitted_temperature(held.members[i], held.labels));
        members[i] = with_temperature(members[i], temperatures[i]);
      }
    }
    const auto& weights = options_.calibrate == "after" ? std::vector<double>() : model_.weights;
    const EnsembleFigures figures = ensemble_figures(members, found.labels, how_, weights);
    return {{"temperatures", temperatures},
            {"loss", figures.loss},
            {"brier", figures.brier},
            {"calibration_error", figures.calibration_error},
            {"error", figures.error}};
  }

  Json curve(const MemberPredictions& found) const {
    Json points = Json::array();
    for (const CurvePoint& point :
         member_curve(found.members, found.labels, how_, static_cast<uint64_t>(options_.seed))) {
      points.push_back({{"members", point.members},
                        {"subsets", point.subsets},
                        {"error", point.error.mean},
                        {"error_standard_error", point.error.error},
                        {"loss", point.loss.mean},
                        {"loss_standard_error", point.loss.error}});
    }
    return points;
  }

  Json plane(const MemberPredictions& found) const {
    std::vector<std::vector<double>> rows;
    for (const Probabilities& member : found.members) rows.emplace_back(member.values.begin(), member.values.end());
    Json points = Json::array();
    const auto seed = static_cast<uint64_t>(options_.seed);
    for (const PlanePoint& point : tsne(rows, {.perplexity = options_.perplexity, .seed = seed}))
      points.push_back({point[0], point[1]});
    return points;
  }

  Json corrupted() const {
    Json all = Json::object();
    for (const std::string& name : wanted()) {
      Json severities = Json::array();
      for (int severity = 1; severity <= 5; ++severity) {
        const MemberPredictions found =
            predictions(options_.part == "valid", fmt::format("corrupt {} {}", name, severity));
        const EnsembleFigures figures = ensemble_figures(found.members, found.labels, how_, model_.weights);
        severities.push_back({{"severity", severity},
                              {"error", figures.error},
                              {"loss", figures.loss},
                              {"calibration_error", figures.calibration_error}});
      }
      all[name] = std::move(severities);
    }
    return all;
  }

  // The names given, or those of every transform that corrupts.
  std::vector<std::string> wanted() const {
    if (options_.corruptions != std::vector<std::string>{"all"}) return options_.corruptions;
    std::vector<std::string> names;
    for (const std::string& name : Transform::Registry::instance().names()) {
      if (name.starts_with("corrupt ")) names.push_back(name.substr(8));
    }
    return names;
  }

  const EnsembleModel& model_;
  const EnsembleEvaluationOptions& options_;
  Combination how_;
};

}  // namespace

Evaluation evaluate_whole(const EvaluationOptions& options) {
  use_threads(options.threads);
  const EnsembleModel model = load_ensemble(options.model);
  const MemberPredictions found = predict_members(model, [&](const Model& member) {
    DataOptions data = options.data;
    if (data.eval_transforms.empty()) data.eval_transforms = member.eval_transforms;
    const ImageData images(data, 0, member.statistics);
    check_images(member, images);
    return options.part == "test" ? images.testing() : images.evaluation(images.all());
  });
  const EnsembleFigures figures = ensemble_figures(found.members, found.labels, model.combine, model.weights);
  return {figures.loss, 100 - figures.error, 100 - figures.top5_error, figures.images};
}

Json evaluate_ensemble(const EnsembleModel& model, const EnsembleEvaluationOptions& options) {
  use_threads(options.threads);
  return Evaluator(model, options).run();
}

Json evaluate_ensembles(const std::vector<std::string>& files, const EnsembleEvaluationOptions& options) {
  if (files.empty())
    fail(
        "nascent ensemble eval: what to score is missing: a run folder, an ensemble.nascent or several model.nascent.");
  const auto holds_ensemble = [](const std::string& file) { return is_ensemble(file); };
  const bool trials = files.size() > 1 && std::all_of(files.begin(), files.end(), holds_ensemble);
  if (!trials) return evaluate_ensemble(gather_ensemble(files), options);
  Json result = {{"trials", Json::array()}};
  std::vector<Json> figures;
  for (const std::string& file : files) {
    result["trials"].push_back(evaluate_ensemble(gather_ensemble({file}), options));
    figures.push_back(result["trials"].back().at("figures"));
  }
  result["mean"] = mean_and_error(figures);
  return result;
}

}  // namespace nascent
