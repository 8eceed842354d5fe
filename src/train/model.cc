#include "nascent/train/model.h"

#include "nascent/core/error.h"
#include "nascent/train/plan_json.h"
#include "nascent/train/state.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

// Version 1 did not keep the data.
constexpr int kModelVersion = 2, kOldestModel = 1;
constexpr const char* kModel = "model";
constexpr const char* kWeights = "network.";

Json options_json(const NetworkOptions& options) {
  return {{"channels", options.channels},   {"cells", options.cells},         {"skeleton", options.skeleton},
          {"auxiliary", options.auxiliary}, {"drop_path", options.drop_path}, {"stem_stride", options.stem_stride}};
}

NetworkOptions options_from(const Json& json) {
  NetworkOptions options;
  json.at("channels").get_to(options.channels);
  json.at("cells").get_to(options.cells);
  json.at("skeleton").get_to(options.skeleton);
  json.at("auxiliary").get_to(options.auxiliary);
  json.at("drop_path").get_to(options.drop_path);
  options.stem_stride = json.value("stem_stride", 1);  // older files have none
  return options;
}

// What it takes to find the data again, and what of it was held out; how it is made into batches is the reader's
// business.
Json data_json(const Model& model) {
  return {{"name", model.data.name},
          {"path", model.data.path},
          {"seed", model.data_seed},
          {"limit", model.data.limit},
          {"limit_test", model.data.limit_test},
          {"valid_fraction", model.data.valid_fraction},
          {"split_file", model.data.split_file},
          {"shape", model.data.shape},
          {"random_labels", model.data.random_labels},
          {"size", model.data.size},
          {"classes", model.data.classes},
          {"test_fraction", model.data.test_fraction}};
}

void read_data(const Json& json, Model& model) {
  json.at("name").get_to(model.data.name);
  json.at("path").get_to(model.data.path);
  json.at("seed").get_to(model.data_seed);
  json.at("limit_test").get_to(model.data.limit_test);
  // Older files do not say what was held out.
  model.data.limit = json.value("limit", model.data.limit);
  model.data.valid_fraction = json.value("valid_fraction", 0.0);
  model.data.split_file = json.value("split_file", "");
  json.at("shape").get_to(model.data.shape);
  json.at("random_labels").get_to(model.data.random_labels);
  json.at("size").get_to(model.data.size);
  json.at("classes").get_to(model.data.classes);
  model.data.test_fraction = json.value("test_fraction", model.data.test_fraction);
}

// Before memory is taken for it: a plan in a file can ask for any amount.
void check_weights(const NetworkPlan& plan, const State& state) {
  int64_t held = 0;
  for (const auto& [name, tensor] : state.tensors()) held += tensor.numel();
  if (const int64_t planned = count_parameters(plan, /*with_auxiliary=*/true); planned > held) {
    fail("{} is not a whole model: its plan has {} weights, but the file holds {} numbers. Make it again.",
         state.origin(), planned, held);
  }
}

Model model_from(const Json& json, const State& state) {
  Model model;
  model.genotype = parse_genotype(json.at("genotype").dump(), "json");
  model.network_options = options_from(json.at("network"));
  json.at("class_names").get_to(model.class_names);
  json.at("eval_transforms").get_to(model.eval_transforms);
  json.at("mean").get_to(model.statistics.mean);
  json.at("deviation").get_to(model.statistics.deviation);
  if (json.contains("data")) read_data(json.at("data"), model);
  model.results = json.at("results");
  NetworkPlan plan = plan_from_json(json.at("plan"));
  check_weights(plan, state);
  model.input = plan.input;
  model.network = std::make_shared<Network>(std::move(plan), /*seed=*/0);
  return model;
}

const Json& model_values(const State& state) {
  if (!state.values.contains(kModel)) {
    fail("{} is a checkpoint, not a model. A run that has finished keeps its models beside its checkpoints.",
         state.origin());
  }
  const Json& values = state.values.at(kModel);
  if (const int version = values.value("version", 0); version < kOldestModel || version > kModelVersion) {
    fail(
        "{} is a model of version {}; this version of Nascent reads versions {} to {}. Read it with the version that "
        "wrote it.",
        state.origin(), version, kOldestModel, kModelVersion);
  }
  return values;
}

}  // namespace

State model_state(const Model& model) {
  State state;
  state.values[kModel] = {{"version", kModelVersion},
                          {"genotype", Json::parse(to_text(model.genotype, "json"))},
                          {"network", options_json(model.network_options)},
                          {"plan", to_json(model.network->plan())},
                          {"class_names", model.class_names},
                          {"eval_transforms", model.eval_transforms},
                          {"mean", model.statistics.mean},
                          {"deviation", model.statistics.deviation},
                          {"data", data_json(model)},
                          {"results", model.results}};
  save_weights(weights_of(*model.network), state, kWeights);
  return state;
}

std::filesystem::path model_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return path;
  if (const auto file = path / "model.nascent"; std::filesystem::exists(file)) return file;
  fail(
      "{} holds no model.nascent: it is no run folder, or one of a run that trains no network or has not ended yet. "
      "Give "
      "a model file, or the folder of a finished 'nascent train'.",
      path.string());
}

void save_model(const Model& model, const std::filesystem::path& path) { save_state(model_state(model), path); }

Model load_model(const std::filesystem::path& path) { return model_in(load_state(model_file(path))); }

Model model_in(const State& state) {
  const Json& values = model_values(state);
  try {
    Model model = model_from(values, state);
    load_weights(weights_of(*model.network), state, kWeights);
    model.network->eval();
    return model;
  } catch (const Json::exception& error) {
    fail("{} is not a model that this version of Nascent can read ({}). Read it with the version that wrote it.",
         state.origin(), error.what());
  }
}

}  // namespace nascent
