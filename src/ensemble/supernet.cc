#include "nascent/ensemble/supernet.h"

#include "nascent/core/error.h"
#include "nascent/run/run_directory.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/train/checkpoints.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

// Where run_job keeps its job's state, and OneShotSearch its network's weights.
constexpr const char* kWeights = "job.supernet.";

}  // namespace

SearchOptions search_options_of(const std::filesystem::path& folder) {
  SearchOptions options;
  OptionTable table;
  options.declare(table);
  table.read_toml_file(folder / "options.toml");
  options.resolve(folder.string());
  return options;
}

std::shared_ptr<const Space> searched_space(const SearchOptions& options) {
  const auto space = find_space(options.space);
  const auto& excluded = options.one_shot.relaxation.exclude;
  return excluded.empty() ? space : without(*space, excluded);
}

std::unique_ptr<Loader> Supernet::judging() const { return data->evaluation(data->split().valid); }
std::unique_ptr<Loader> Supernet::learning(const std::string& purpose) const {
  return data->training(data->split().valid, purpose);
}
std::unique_ptr<Loader> Supernet::testing() const { return data->testing(); }
std::unique_ptr<Loader> Supernet::training() const { return data->training(data->split().train, "recalibration"); }

int64_t Supernet::steps() const {
  return options.one_shot.epochs * data->training(data->split().train, "search")->batches();
}

Supernet load_supernet(const std::filesystem::path& given, const std::string& space) {
  const auto inner = given / "supernet";
  const auto folder = std::filesystem::exists(inner / "run.json") ? inner : given;
  if (!std::filesystem::exists(folder / "run.json"))
    fail("{} is not a run folder. --supernet takes the folder of a search whose relaxation runs single paths.",
         given.string());
  const RunDirectory run = RunDirectory::view(folder);
  if (const auto verb = run.info().value("verb", ""); verb != "search")
    fail("{} is a run of 'nascent {}'. --supernet takes the folder of a search whose relaxation runs single paths.",
         given.string(), verb);
  if (run.status() != RunStatus::done)
    fail("The supernet in {} is not fully trained; resume it with nascent search --resume {}.", folder.string(),
         folder.string());
  Supernet supernet;
  supernet.options = search_options_of(folder);
  supernet.space = searched_space(supernet.options);
  if (!space.empty() && supernet.space->name() != space) {
    fail(
        "The supernet in {} is of the space {}, but {} was asked for. Give the supernet's space with --space, or "
        "another --supernet.",
        folder.string(), supernet.space->name(), space);
  }
  const auto seed = static_cast<uint64_t>(supernet.options.run.seed);
  supernet.data = std::make_shared<ImageData>(supernet.options.data, seed);
  if (supernet.data->split().valid.empty()) {
    fail(
        "The supernet in {} held out no images to judge architectures by; train it with --valid-fraction above 0 "
        "(0.3 as in NESBS).",
        folder.string());
  }
  const NetworkPlan plan =
      plan_supernet(*supernet.space, supernet.options.network, supernet.data->shape(), supernet.data->classes());
  supernet.network = std::make_shared<Network>(plan, seed);
  auto state = CheckpointStore(folder / "checkpoints").newest();
  if (!state) fail("{} has no checkpoint to take the supernet's weights from.", folder.string());
  supernet.state = std::move(*state);
  load_weights(weights_of(*supernet.network), supernet.state, kWeights);
  for (at::Tensor parameter : supernet.network->parameters()) parameter.requires_grad_(false);
  return supernet;
}

Fairness fairness_of(const Supernet& supernet) {
  const SearchOptions& options = supernet.options;
  const auto seed = static_cast<uint64_t>(options.run.seed);
  const auto relaxation = Relaxation::Registry::instance().make(
      options.one_shot.relaxation.relaxation, RelaxationSetup{*supernet.space, options.one_shot.relaxation, seed});
  if (relaxation->candidates_at_once() != 1 || !relaxation->parameters().empty())
    fail("The supernet was not trained by uniform single paths, so how often its candidates ran is not known.");
  const int64_t steps = supernet.steps();
  return count_fairness(*supernet.space, steps, [&](int64_t step) {
    return relaxation->mixture({.seed = seed, .step = step, .steps = steps});
  });
}

}  // namespace nascent
