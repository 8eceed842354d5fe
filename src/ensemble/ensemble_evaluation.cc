#include "nascent/ensemble/ensemble_evaluation.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"
#include "nascent/core/text.h"
#include "nascent/data/image_data.h"
#include "nascent/ensemble/member_curve.h"
#include "nascent/ensemble/member_images.h"
#include "nascent/ensemble/temperature.h"
#include "nascent/ensemble/tsne.h"
#include "nascent/nn/threads.h"
#include "nascent/run/ensemble_figures.h"

namespace nascent {

void EnsembleEvaluationOptions::declare(OptionTable& table) {
  auto section = table.section(
      "eval", "Which images are scored, the members' own unless --data names other, and what is told about them.");
  section.add("models", models, "ensembles, models or run folders; also accepted as arguments");
  section.add("part", part, "split to evaluate: test images, or those held out during training")
      .one_of({"test", "valid"});
  section.add("combine", combine, "what to average over the members; empty: the ensemble's own setting")
      .one_of({"", "probabilities", "logits"});
  section
      .add("calibrate", calibrate,
           "temperature scaling on held-out images: for each member before averaging, or after averaging")
      .one_of({"none", "before", "after"});
  section.add("curve", curve, "compute error and loss by number of members, over all subsets or 200 random ones");
  section.add("tsne", tsne, "draw the members' predictions in two dimensions (t-SNE)");
  section.add("perplexity", perplexity, "perplexity of t-SNE").range(1, 1e6);
  section.add("corruptions", corruptions,
              "corruptions, by name, under which to repeat the evaluation at severities 1 to 5; all: every one");
  data.declare(table);
  run.declare(table);
}

namespace {

std::vector<std::string> corruption_names() {
  std::vector<std::string> names;
  for (const std::string& name : Transform::Registry::instance().names()) {
    if (name.starts_with("corrupt ")) names.push_back(name.substr(8));
  }
  return names;
}

// The names given, or those of every transform that corrupts.
std::vector<std::string> corruptions_of(const EnsembleEvaluationOptions& options) {
  const auto known = corruption_names();
  if (options.corruptions == std::vector<std::string>{"all"}) return known;
  for (const std::string& name : options.corruptions) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail("--corruptions {}: there is no such corruption. Known: all, {}.", name, join(known, ", "));
  }
  return options.corruptions;
}

class Evaluator {
 public:
  Evaluator(const EnsembleModel& model, const EnsembleEvaluationOptions& options)
      : model_(model),
        options_(options),
        how_(options.combine.empty() ? model.combine : combination(options.combine)),
        corrupted_(options.data, model.first().data_seed) {}

  Json run() {
    if (options_.calibrate != "none") held_out_ = predictions(true, "");  // first: there may be none
    found_ = predictions(options_.part == "valid", "");
    Json cells = Json::array();
    for (const Model& member : model_.members) cells.push_back(Json::parse(to_text(member.genotype, "json")));
    const EnsembleFigures figures = ensemble_figures(found_.members, found_.labels, how_, model_.weights);
    Json result = {{"kind", "evaluation"},
                   {"part", options_.part},
                   {"members", found_.members.size()},
                   {"parameters", model_.parameters()},
                   {"multiply_adds", model_.multiply_adds()},
                   {"top1", 100 - figures.error},
                   {"figures", figures.to_json()},
                   {"cells", std::move(cells)}};
    if (options_.calibrate != "none") result["calibrated"] = calibrated();
    if (options_.curve) result["curve"] = curve();
    if (!options_.corruptions.empty()) result["corrupted"] = corrupted();
    return result;
  }

  const Members& members() const { return found_.members; }

 private:
  // `corruption`: a transform that comes first, or "".
  MemberPredictions predictions(bool held_out, const std::string& corruption) const {
    if (held_out && options_.data.name.empty()) require_one_split(model_.members);
    return predict_members(model_, [&](const Model& member) {
      return member_images(member, options_.data, model_.first().data_seed,
                           held_out ? MemberImages::held_out : MemberImages::test, corruption);
    });
  }

  Json calibrated() const {
    const MemberPredictions& held = held_out_;
    Members members = found_.members;
    std::vector<double> temperatures;
    if (options_.calibrate == "after") {
      temperatures.push_back(fitted_temperature(combine(held.members, how_, model_.weights), held.labels));
      members = {with_temperature(combine(found_.members, how_, model_.weights), temperatures[0])};
    } else {
      for (size_t i = 0; i < members.size(); ++i) {
        temperatures.push_back(fitted_temperature(held.members[i], held.labels));
        members[i] = with_temperature(members[i], temperatures[i]);
      }
    }
    const auto& weights = options_.calibrate == "after" ? std::vector<double>() : model_.weights;
    const Json figures = ensemble_figures(members, found_.labels, how_, weights).to_json();
    Json result = {{"temperatures", temperatures}, {"images", held.labels.size()}};
    for (const char* key : {"error", "loss", "brier", "calibration_error", "reliability"}) result[key] = figures[key];
    return result;
  }

  Json curve() const {
    Json points = Json::array();
    for (const CurvePoint& point :
         member_curve(found_.members, found_.labels, how_, static_cast<uint64_t>(options_.run.seed))) {
      points.push_back({{"members", point.members},
                        {"subsets", point.subsets},
                        {"error", point.error.mean},
                        {"error_standard_error", point.error.error},
                        {"loss", point.loss.mean},
                        {"loss_standard_error", point.loss.error}});
    }
    return points;
  }

  MemberPredictions corrupted_predictions(const std::string& corruption) {
    if (options_.part == "valid") return predictions(true, corruption);
    return predict_members(model_, [&](const Model& member) { return corrupted_.loader(member, corruption); });
  }

  Json corrupted() {
    Json all = Json::object();
    Progress progress("corruptions", static_cast<int64_t>(5 * corruptions_of(options_).size()));
    for (const std::string& name : corruptions_of(options_)) {
      Json severities = Json::array();
      for (int severity = 1; severity <= 5; ++severity) {
        const MemberPredictions found = corrupted_predictions(fmt::format("corrupt {} {}", name, severity));
        const EnsembleFigures figures = ensemble_figures(found.members, found.labels, how_, model_.weights);
        severities.push_back({{"severity", severity},
                              {"error", figures.error},
                              {"loss", figures.loss},
                              {"calibration_error", figures.calibration_error}});
        progress.advance(1, fmt::format("{} {}", name, severity));
      }
      all[name] = std::move(severities);
    }
    return all;
  }

  const EnsembleModel& model_;
  const EnsembleEvaluationOptions& options_;
  Combination how_;
  CorruptedImages corrupted_;
  MemberPredictions found_{}, held_out_{};
};

// Members of all trials as points of one plane, each with its architecture: those of one lie together (Fig. 5.4).
class PredictionPlane {
 public:
  void add(const EnsembleModel& model, const Members& predictions, size_t trial) {
    for (size_t i = 0; i < predictions.size(); ++i) {
      rows_.emplace_back(predictions[i].values.begin(), predictions[i].values.end());
      const Model& member = model.members[i / static_cast<size_t>(model.passes)];
      points_.push_back(
          {{"trial", trial + 1}, {"member", i + 1}, {"architecture", number_of(to_text(member.genotype, "json"))}});
    }
  }

  Json place(const EnsembleEvaluationOptions& options) {
    const auto seed = static_cast<uint64_t>(options.run.seed);
    const auto places = tsne(rows_, {.perplexity = options.perplexity, .seed = seed});
    for (size_t i = 0; i < places.size(); ++i) points_[i].update({{"x", places[i][0]}, {"y", places[i][1]}});
    return points_;
  }

 private:
  size_t number_of(const std::string& architecture) {
    const auto known = std::find(architectures_.begin(), architectures_.end(), architecture);
    if (known != architectures_.end()) return static_cast<size_t>(known - architectures_.begin()) + 1;
    architectures_.push_back(architecture);
    return architectures_.size();
  }

  std::vector<std::vector<double>> rows_;
  std::vector<std::string> architectures_;
  Json points_ = Json::array();
};

Json evaluate_as_trials(const EnsembleEvaluationOptions& options) {
  Json result = {{"kind", "trials"}, {"trials", Json::array()}};
  std::vector<Json> figures;
  PredictionPlane plane;
  for (size_t i = 0; i < options.models.size(); ++i) {
    log::info("Ensemble {} of {}", i + 1, options.models.size());
    const EnsembleModel model = load_ensemble(options.models[i]);
    Evaluator evaluator(model, options);
    Json one = evaluator.run();
    one["model"] = options.models[i];
    figures.push_back(one.at("figures"));
    if (options.tsne) plane.add(model, evaluator.members(), i);
    result["trials"].push_back(std::move(one));
  }
  result["mean"] = mean_and_error(figures);
  if (options.tsne) result["tsne"] = plane.place(options);
  return result;
}

}  // namespace

Evaluation evaluate_whole(const EvaluationOptions& options) {
  options.apply();
  const EnsembleModel model = load_ensemble(options.model);
  const MemberPredictions found = predict_members(model, [&](const Model& member) {
    const ImageData images(data_of(member, options.data), model.first().data_seed, member.statistics);
    check_fits(member, images);
    return options.part == "test" ? images.testing() : images.evaluation(images.all());
  });
  const EnsembleFigures figures = ensemble_figures(found.members, found.labels, model.combine, model.weights);
  return {figures.loss, 100 - figures.error, 100 - figures.top5_error, figures.images};
}

Json evaluate_ensemble(const EnsembleModel& model, const EnsembleEvaluationOptions& options) {
  Evaluator evaluator(model, options);
  Json result = evaluator.run();
  if (!options.tsne) return result;
  PredictionPlane plane;
  plane.add(model, evaluator.members(), 0);
  result["tsne"] = plane.place(options);
  return result;
}

Json evaluate_ensembles(const EnsembleEvaluationOptions& options) {
  options.run.apply();
  const auto& files = options.models;
  if (files.empty()) {
    fail(
        "nascent ensemble eval: what to score is missing: a run folder, an ensemble.nascent or several "
        "model.nascent.");
  }
  // Refused before anything is computed.
  corruptions_of(options);
  if (!options.tsne && options.perplexity != EnsembleEvaluationOptions().perplexity)
    fail("--perplexity is {}, but only --tsne reads it. Add --tsne, or leave --perplexity out.", options.perplexity);
  const auto holds_ensemble = [](const std::string& file) { return is_ensemble(file); };
  if (files.size() > 1 && std::all_of(files.begin(), files.end(), holds_ensemble)) return evaluate_as_trials(options);
  return evaluate_ensemble(gather_ensemble(files), options);
}

Json evaluate_ensembles(const EnsembleEvaluationOptions& options, Session& session) {
  Json result = evaluate_ensembles(options);  // whatever is refused leaves no folder
  session.begin("ensemble", {{"Models", join(options.models, ", ")}, {"Images", options.part}});
  session.run([&] {
    write_ensemble_figures(result, session.directory().path() / "figures");
    session.conclude(result);
  });
  return result;
}

}  // namespace nascent
