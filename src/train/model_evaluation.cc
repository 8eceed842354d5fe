#include "nascent/train/model_evaluation.h"

#include <optional>

#include "nascent/core/error.h"
#include "nascent/data/image_data.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"
#include "nascent/train/model.h"
#include "nascent/train/run_options.h"

namespace nascent {

void EvaluationOptions::declare(OptionTable& table) {
  auto section = table.section(
      "eval", "Which images are scored: those of the data that the model was trained on, unless --data names other.");
  section.add("part", part, "part of the data set").one_of({"train", "test"});
  section.add("details", details, "per-class accuracy, confusions, calibration and the worst mistakes");
  data.declare(table);
  table.section("run", "Where and how a run happens.")
      .add("threads", threads, "number of compute threads; 0: one per core")
      .range(0, 1024);
  declare_precision(table, precision);
}

void EvaluationOptions::apply() const {
  use_threads(threads);
  use_precision(precision_named(precision));
}

namespace {

// Says so where the reason that images cannot be prepared is that grey ones are taken for colours, or the reverse.
void check_channels(const Model& model, const DataOptions& data) {
  const Shape found = load_dataset(data, Part::test, model.data_seed)->shape();
  if (found.channels == model.input.channels) return;
  fail(
      "The model takes images of {} (channels x height x width); {} has {}. Name the data it was trained on with "
      "--data "
      "and --path.",
      model.input.text(), data_text(data), found.text());
}

}  // namespace

ModelJudgement judge(const EvaluationOptions& options) {
  constexpr int kWorst = 10;
  options.apply();
  const Model model = load_model(options.model);
  const DataOptions chosen = data_of(model, options.data);
  std::optional<ImageData> data;
  try {
    data.emplace(chosen, model.data_seed, model.statistics);
  } catch (const Error&) {
    check_channels(model, chosen);
    throw;
  }
  check_fits(model, *data);
  const auto loader = options.part == "test" ? data->testing() : data->evaluation(data->all());
  ModelJudgement found{chosen, model.class_names,
                       judge(*model.network, *loader, static_cast<int>(model.class_names.size()),
                             options.details || options.pictures ? kWorst : 0)};
  if (options.pictures) {
    found.details = found.judgement.to_json(model.class_names);
    add_pictures(found.details, options.part == "test" ? data->test() : data->train());
  }
  return found;
}

Evaluation evaluate(const EvaluationOptions& options) { return judge(options).judgement.scores; }

}  // namespace nascent
