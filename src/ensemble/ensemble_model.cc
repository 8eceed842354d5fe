#include "nascent/ensemble/ensemble_model.h"

#include <ATen/ATen.h>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/ensemble/temperature.h"

namespace nascent {
namespace {

constexpr int kVersion = 1;
constexpr const char* kEnsemble = "ensemble";

std::string member_name(size_t index) { return fmt::format("member-{}", index + 1); }

// A member is kept as the bytes of its own model file.
at::Tensor as_tensor(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(tensor.data_ptr<uint8_t>()));
  return tensor;
}

std::string_view as_bytes(const at::Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data_ptr<uint8_t>()), static_cast<size_t>(tensor.numel())};
}

EnsembleModel ensemble_in(const State& state) {
  const Json& values = state.values.at(kEnsemble);
  if (const int version = values.value("version", 0); version != kVersion)
    fail("{} is an ensemble of version {}; this version of Nascent reads version {}.", state.origin(), version,
         kVersion);
  EnsembleModel model;
  for (size_t i = 0; i < values.at("members").get<size_t>(); ++i) {
    const std::string name = member_name(i);
    model.members.push_back(
        model_in(State::parse(as_bytes(state.tensor(name)), fmt::format("{} of {}", name, state.origin()))));
  }
  values.at("weights").get_to(model.weights);
  model.combine = combination(values.at("combine").get<std::string>());
  values.at("passes").get_to(model.passes);
  values.at("drop_path").get_to(model.drop_path);
  values.at("seed").get_to(model.seed);
  values.at("temperature").get_to(model.temperature);
  check_ensemble(model);
  return model;
}

std::filesystem::path ensemble_file(const std::string& path) {
  if (!std::filesystem::exists(path))
    fail("There is no {}: an ensemble.nascent, a model.nascent or a run folder that holds one was expected.", path);
  if (!std::filesystem::is_directory(path)) return path;
  for (const char* name : {"ensemble.nascent", "model.nascent"}) {
    if (const auto file = std::filesystem::path(path) / name; std::filesystem::exists(file)) return file;
  }
  fail("{} holds neither ensemble.nascent nor model.nascent. Train the members first: nascent ensemble train {}.", path,
       path);
}

}  // namespace

int64_t EnsembleModel::parameters() const {
  int64_t sum = 0;
  for (const Model& member : members) sum += count_parameters(member.network->plan());
  return sum;
}

int64_t EnsembleModel::multiply_adds() const {
  int64_t sum = 0;
  for (const Model& member : members) sum += count_multiply_adds(member.network->plan());
  return sum * passes;
}

void check_ensemble(const EnsembleModel& model) {
  if (model.members.empty()) fail("An ensemble needs at least one member.");
  const Model& first = model.first();
  for (size_t i = 1; i < model.members.size(); ++i) {
    const Model& member = model.members[i];
    if (member.class_names != first.class_names) {
      fail(
          "Member {} has {} classes ({}, ...), member 1 has {} ({}, ...); all members of an ensemble must have the "
          "same classes.",
          i + 1, member.class_names.size(), member.class_names[0], first.class_names.size(), first.class_names[0]);
    }
    if (!(member.input == first.input)) {
      fail(
          "Member {} takes images of {} x {} x {}, member 1 of {} x {} x {}; an ensemble's members must see the same "
          "images.",
          i + 1, member.input.channels, member.input.height, member.input.width, first.input.channels,
          first.input.height, first.input.width);
    }
  }
  if (!model.weights.empty() && model.weights.size() != model.members.size())
    fail("There are {} weights for {} members.", model.weights.size(), model.members.size());
}

MemberPredictions predict_members(const EnsembleModel& model, const LoaderFor& loader) {
  MemberPredictions all;
  for (size_t i = 0; i < model.members.size(); ++i) {
    const auto images = loader(model.members[i]);
    for (int pass = 0; pass < model.passes; ++pass) {
      PredictionOptions options;
      if (model.drop_path > 0) {
        const uint64_t seed = RandomStream(model.seed, "pass", {i, static_cast<uint64_t>(pass)})();
        options.context = {.drop_path = model.drop_path, .seed = seed, .drop_together = true};
      }
      Predictions found = predict(*model.members[i].network, *images, options);
      if (model.temperature != 1) found.probabilities = with_temperature(found.probabilities, model.temperature);
      all.members.push_back(std::move(found.probabilities));
      if (!all.labels.empty() && all.labels != found.labels)
        fail("Member {} was shown other images than member 1; give the same --data, --limit-test and --seed.", i + 1);
      all.labels = std::move(found.labels);
    }
  }
  return all;
}

void save_ensemble(const EnsembleModel& model, const std::filesystem::path& path) {
  check_ensemble(model);
  State state;
  state.values[kEnsemble] = {
      {"version", kVersion},      {"members", model.members.size()},
      {"weights", model.weights}, {"combine", combination_names()[static_cast<size_t>(model.combine)]},
      {"passes", model.passes},   {"drop_path", model.drop_path},
      {"seed", model.seed},       {"temperature", model.temperature}};
  for (size_t i = 0; i < model.members.size(); ++i)
    state.put(member_name(i), as_tensor(model_state(model.members[i]).serialise()));
  save_state(state, path);
}

EnsembleModel load_ensemble(const std::filesystem::path& path) {
  const State state = load_state(ensemble_file(path.string()));
  if (!state.values.contains(kEnsemble)) {
    EnsembleModel single;
    single.members.push_back(model_in(state));
    return single;
  }
  try {
    return ensemble_in(state);
  } catch (const Json::exception& error) {
    fail("{} is not an ensemble that this version of Nascent can read ({}).", state.origin(), error.what());
  }
}

EnsembleModel gather_ensemble(const std::vector<std::string>& files) {
  if (files.size() == 1) return load_ensemble(files[0]);
  EnsembleModel all;
  for (const std::string& file : files) {
    EnsembleModel part = load_ensemble(file);
    if (part.passes != 1 || !part.weights.empty())
      fail("{} is an ensemble with weights or passes of its own; only plain ones can be joined with others.", file);
    for (Model& member : part.members) all.members.push_back(std::move(member));
  }
  check_ensemble(all);
  return all;
}

bool is_ensemble(const std::filesystem::path& path) {
  return load_state(ensemble_file(path.string())).values.contains(kEnsemble);
}

}  // namespace nascent
