#include "nascent/search/staged_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "nascent/core/log.h"
#include "nascent/core/recipes.h"
#include "nascent/search/comparison.h"
#include "nascent/search/search.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

namespace {

// What of a search's result the whole tells of it: the rest is its own.
Json summary_of(Json result) {
  for (const char* key : {"method", "recipe", "seed", "seconds", "genotype", "genotype_text", "trials"})
    result.erase(key);
  return result;
}

// The same images for search and training; the split, the batches and the augmentation are the training's own.
void take_images(const DataOptions& from, DataOptions& to) {
  to.name = from.name;
  to.path = from.path;
  to.limit = from.limit;
  to.limit_test = from.limit_test;
  to.workers = from.workers;
  to.random_labels = from.random_labels;
  to.eval_transforms = from.eval_transforms;
  to.shape = from.shape;
  to.classes = from.classes;
  to.size = from.size;
}

}  // namespace

StagedSearch::StagedSearch(const SearchOptions& options, Session& session)
    : options_(options), stages_(options.stages), session_(session) {}

void StagedSearch::run() {
  search();
  if (stages_.stage2_epochs > 0) eliminate();
  if (stages_.stage3_seeds > 0) train_fully();
}

// The candidate that a search found: a new one, unless another found the same cell.
Candidate& StagedSearch::candidate_of(const std::string& folder) {
  const auto path = session_.directory().path() / folder;
  const Genotype genotype = RunDirectory::view(path).genotype().value();
  const auto known = std::find_if(candidates_.begin(), candidates_.end(),
                                  [&](const Candidate& candidate) { return candidate.genotype == genotype; });
  if (known != candidates_.end()) return *known;
  const int number = static_cast<int>(candidates_.size()) + 1;
  return candidates_.emplace_back(Candidate{.number = number, .genotype = genotype, .search = path.string()});
}

SearchOptions StagedSearch::search_of(int number) const {
  SearchOptions one = options_;
  one.stages = {};
  one.run.seed += number;
  return one;
}

SessionStart StagedSearch::start_of(const SearchOptions& one) const {
  std::vector<std::string> words = session_.command();
  words.insert(words.end(),
               {"--seeds", "1", "--stage2-epochs", "0", "--stage3-seeds", "0", "--seed", std::to_string(one.run.seed)});
  return {.verb = "search", .command = words, .recipe = session_.start().recipe};
}

void StagedSearch::search() {
  const auto folder_of = [](int number) { return fmt::format("search-{}", number + 1); };
  PartsAhead ahead(session_, options_.run, images_of_parts());
  for (int i = 0; i < stages_.seeds; ++i) ahead.add(folder_of(i), start_of(search_of(i)), search_of(i));
  ahead.run();
  for (int i = 0; i < stages_.seeds; ++i) {
    const SearchOptions one = search_of(i);
    const std::string folder = folder_of(i);
    log::info("Stage 1, search {} of {} (seed {})", i + 1, stages_.seeds, one.run.seed);
    const Json found = session_.part(folder, start_of(one), one, [](const SearchOptions& options, Session& part) {
      nascent::search(options, part);
    });
    Candidate& candidate = candidate_of(folder);
    candidate.seeds.push_back(one.run.seed);
    candidate.found_top1 = std::max(candidate.found_top1, found.value("valid_top1", 0.0));
    Json entry = {{"seed", one.run.seed}, {"folder", folder}, {"candidate", candidate.number}};
    entry.update(summary_of(found));
    searches_.push_back(std::move(entry));
  }
  // Before any judgement, what was found most often comes first; then what its search found best.
  std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.seeds.size(), a.found_top1) > std::tuple(b.seeds.size(), b.found_top1);
  });
}

TrainingOptions StagedSearch::training_of(const Candidate& candidate, const std::string& recipe, int64_t seed,
                                          const std::vector<std::string>& assignments) const {
  TrainingOptions options;
  OptionTable table;
  options.declare(table);
  take_images(options_.data, options.data);
  const Recipe found = find_recipe(recipe);
  found.require_verb("train");
  table.read_toml(found.text, "recipe " + recipe);
  std::vector<std::string> typed = {"data.limit"};  // that of the search, which is scaled already
  for (const auto& assignment : assignments) {
    table.read_assignment(assignment);
    typed.push_back(table.at(assignment.substr(0, assignment.find('=')), "--retrain-set").key());
  }
  options.genotype = candidate.search;
  options.run.seed = seed;
  if (!stages_.retrain_scale.empty()) {
    const int fewest = Skeleton::Registry::instance().at(options_.network.skeleton).facts.fewest_cells;
    apply_scale(Scale::parse(stages_.retrain_scale), {.fewest_cells = fewest}, typed, table);
  }
  return options;
}

StagedSearch::Training StagedSearch::training(const Candidate& candidate, std::string folder, int64_t seed,
                                              const std::vector<std::string>& assignments) const {
  std::string recipe = stages_.retrain;
  if (recipe.empty()) recipe = Skeleton::Registry::instance().at(options_.network.skeleton).facts.retraining;
  std::vector<std::string> words = {"--recipe", recipe, "--genotype", candidate.search, "--seed", std::to_string(seed)};
  std::vector<std::string> sets = stages_.retrain_set;
  sets.insert(sets.end(), assignments.begin(), assignments.end());
  for (const auto& assignment : sets) words.insert(words.end(), {"--set", assignment});
  return {.folder = std::move(folder),
          .start = {.verb = "train", .command = words, .recipe = recipe},
          .options = training_of(candidate, recipe, seed, sets)};
}

void StagedSearch::train_ahead(const std::vector<Training>& trainings) {
  PartsAhead ahead(session_, options_.run, images_of_parts());
  for (const Training& one : trainings) ahead.add(one.folder, one.start, one.options);
  ahead.run();
}

// What a table judges needs no images.
std::optional<DataOptions> StagedSearch::images_of_parts() const {
  if (options_.table.empty() || stages_.trains()) return options_.data;
  return std::nullopt;
}

Json StagedSearch::train(const Training& one) {
  return session_.part(one.folder, one.start, one.options,
                       [](const TrainingOptions& options, Session& part) { nascent::train(options, part); });
}

void StagedSearch::eliminate() {
  std::vector<Training> trainings;
  for (const Candidate& candidate : candidates_) {
    trainings.push_back(training(candidate, fmt::format("stage2-{}", candidate.number), options_.run.seed,
                                 {fmt::format("train.epochs={}", stages_.stage2_epochs),
                                  fmt::format("data.valid-fraction={}", stages_.stage2_valid_fraction)}));
  }
  train_ahead(trainings);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    log::info("Stage 2, candidate {} of {}: {} epochs", candidate.number, candidates_.size(), stages_.stage2_epochs);
    candidate.valid_top1 = train(trainings[i]).at("best").at("valid_top1").get<double>();
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.valid_top1 > b.valid_top1; });
  for (size_t i = 0; i < candidates_.size(); ++i) candidates_[i].kept = i < static_cast<size_t>(stages_.stage2_keep);
}

void StagedSearch::train_fully() {
  std::vector<Training> trainings;
  for (const Candidate& candidate : candidates_) {
    for (int i = 0; candidate.kept && i < stages_.stage3_seeds; ++i) {
      trainings.push_back(
          training(candidate, fmt::format("stage3-{}-{}", candidate.number, i + 1), options_.run.seed + i, {}));
    }
  }
  train_ahead(trainings);
  auto next = trainings.begin();
  for (Candidate& candidate : candidates_) {
    for (int i = 0; candidate.kept && i < stages_.stage3_seeds; ++i) {
      log::info("Stage 3, candidate {}: training {} of {}", candidate.number, i + 1, stages_.stage3_seeds);
      candidate.test_top1.push_back(train(*next++).at("test_top1").get<double>());
    }
  }
}

const Genotype& StagedSearch::best() const { return candidates_.front().genotype; }

// By what the first candidate became the first.
std::string StagedSearch::reason() const {
  if (stages_.stage2_epochs > 0) return "the validation accuracy after the short training";
  if (candidates_.size() == 1) return "being the only cell that was found";
  const Candidate &best = candidates_[0], &next = candidates_[1];
  if (best.seeds.size() > next.seeds.size()) return "being found by most seeds";
  if (best.found_top1 > next.found_top1) return "the validation accuracy that its search measured";
  return fmt::format("being found first, by seed {}; nothing tells the cells apart", best.seeds.front());
}

// Mean and deviation over the searches of what a table knows of the cells they found.
Json StagedSearch::table_means() const {
  std::map<std::string, std::map<std::string, std::vector<double>>> numbers;
  for (const auto& entry : searches_) {
    const Json ranks = entry.value("table", Json::object());
    for (const auto& [data, place] : ranks.items()) {
      for (const char* key : {"test", "rank", "regret"}) {
        if (place.contains(key)) numbers[data][key].push_back(place[key].get<double>());
      }
    }
  }
  Json means = Json::object();
  for (const auto& [data, columns] : numbers) {
    for (const auto& [key, values] : columns) {
      const Spread spread = spread_of(values);
      means[data][key] = {{"mean", spread.mean}, {"deviation", spread.deviation}};
    }
  }
  return means;
}

Json StagedSearch::result() const {
  Json candidates = Json::array();
  for (const Candidate& candidate : candidates_) {
    Json entry = {
        {"candidate", candidate.number}, {"found_by_seeds", candidate.seeds}, {"cell", short_text(candidate.genotype)}};
    if (stages_.stage2_epochs > 0) entry.update({{"valid_top1", candidate.valid_top1}, {"kept", candidate.kept}});
    if (!candidate.test_top1.empty()) {
      const Spread spread = spread_of(candidate.test_top1);
      entry.update({{"test_top1", candidate.test_top1}, {"mean", spread.mean}, {"deviation", spread.deviation}});
    }
    candidates.push_back(std::move(entry));
  }
  Json result = {{"candidate", candidates_.front().number}, {"chosen_by", reason()}};
  if (const auto& accuracies = candidates_.front().test_top1; !accuracies.empty()) {
    const Spread spread = spread_of(accuracies);
    result.update({{"test_top1", spread.mean}, {"test_top1_deviation", spread.deviation}});
  }
  result["stages"] = {{"searches", searches_}, {"candidates", std::move(candidates)}};
  if (Json means = table_means(); !means.empty()) result["stages"]["table"] = std::move(means);
  return result;
}

}  // namespace nascent
