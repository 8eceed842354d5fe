#include "nascent/train/model.h"

#include "nascent/core/error.h"
#include "nascent/train/plan_json.h"
#include "nascent/train/state.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

constexpr int kVersion = 1;
constexpr const char* kModel = "model";
constexpr const char* kWeights = "network.";

Json options_json(const NetworkOptions& options) {
  return {{"channels", options.channels},
          {"cells", options.cells},
          {"skeleton", options.skeleton},
          {"auxiliary", options.auxiliary},
          {"drop_path", options.drop_path}};
}

NetworkOptions options_from(const Json& json) {
  NetworkOptions options;
  json.at("channels").get_to(options.channels);
  json.at("cells").get_to(options.cells);
  json.at("skeleton").get_to(options.skeleton);
  json.at("auxiliary").get_to(options.auxiliary);
  json.at("drop_path").get_to(options.drop_path);
  return options;
}

Model model_from(const Json& json) {
  Model model;
  model.genotype = parse_genotype(json.at("genotype").dump(), "json");
  model.network_options = options_from(json.at("network"));
  json.at("class_names").get_to(model.class_names);
  json.at("eval_transforms").get_to(model.eval_transforms);
  json.at("mean").get_to(model.statistics.mean);
  json.at("deviation").get_to(model.statistics.deviation);
  model.results = json.at("results");
  NetworkPlan plan = plan_from_json(json.at("plan"));
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
  if (const int version = values.value("version", 0); version != kVersion) {
    fail(
        "{} is a model of version {}; this version of Nascent reads version {}. Read it with the version that wrote "
        "it.",
        state.origin(), version, kVersion);
  }
  return values;
}

}  // namespace

void save_model(const Model& model, const std::filesystem::path& path) {
  State state;
  state.values[kModel] = {{"version", kVersion},
                          {"genotype", Json::parse(to_text(model.genotype, "json"))},
                          {"network", options_json(model.network_options)},
                          {"plan", to_json(model.network->plan())},
                          {"class_names", model.class_names},
                          {"eval_transforms", model.eval_transforms},
                          {"mean", model.statistics.mean},
                          {"deviation", model.statistics.deviation},
                          {"results", model.results}};
  save_weights(weights_of(*model.network), state, kWeights);
  save_state(state, path);
}

Model load_model(const std::filesystem::path& path) {
  const State state = load_state(path);
  const Json& values = model_values(state);
  try {
    Model model = model_from(values);
    load_weights(weights_of(*model.network), state, kWeights);
    model.network->eval();
    return model;
  } catch (const Json::exception& error) {
    fail("{} is not a model that this version of Nascent can read ({}). Read it with the version that wrote it.",
         state.origin(), error.what());
  }
}

}  // namespace nascent
