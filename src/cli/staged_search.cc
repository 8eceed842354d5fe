#include "nascent/cli/staged_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/cli/recipes.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"

namespace nascent {

void StageOptions::declare(OptionTable& table) {
  auto section = table.section("stages", "Several searches, and what is done with the cells they find (GAEA, C.1).");
  section.add("seeds", seeds, "searches, with run.seed and the seeds after it").range(1, 10000);
  section.add("stage2-epochs", stage2_epochs, "epochs of the short training that eliminates cells; 0: none")
      .range(0, 100000);
  section.add("stage2-keep", stage2_keep, "cells that are left after it").range(1, 10000);
  section
      .add("stage2-valid-fraction", stage2_valid_fraction,
           "part of the training images that judges the cells in the short training")
      .range(0.001, 0.9);
  section.add("stage3-seeds", stage3_seeds, "full trainings of each cell that is left; 0: none").range(0, 10000);
  section.add("retrain", retrain,
              "recipe or .toml file of the trainings; empty: retrain-cifar for DARTS networks, retrain-nasbench201 for "
              "the others");
  section.add("retrain-scale", retrain_scale, "--scale of the trainings; empty: that of the search");
  section.add("retrain-set", retrain_set, "options of the trainings, each as in \"train.epochs=20\"");
}

namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<size_t>(values.size(), 1));
}

// Of a sample: over n - 1.
double deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

std::string seed_list(const std::vector<int64_t>& seeds) {
  std::vector<std::string> words;
  for (const int64_t seed : seeds) words.push_back(std::to_string(seed));
  return join(words, ", ");
}

// One line that names a cell: its shortest text form.
std::string short_text(const Genotype& genotype) {
  std::string best = to_text(genotype, "json");
  for (const auto& form : text_forms(genotype)) {
    const std::string text = to_text(genotype, form);
    if (text.size() < best.size() && text.find('\n') == std::string::npos) best = text;
  }
  return best;
}

bool is_done(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "run.json") && RunDirectory::view(folder).status() == RunStatus::done;
}

Json value_of(const OptionTable& table, const std::string& key) {
  for (const auto& option : table.options()) {
    if (option.key() == key) return option.value();
  }
  return nullptr;
}

// The same images for search and training; the split, the batches and the augmentation are the training's own.
void copy_data_options(const OptionTable& from, OptionTable& to) {
  for (const std::string name : {"name", "path", "limit", "limit-test", "workers", "random-labels", "eval-transforms",
                                 "shape", "classes", "size"}) {
    to.at("data." + name, "search").set(value_of(from, "data." + name), "search");
  }
}

}  // namespace

StagedSearch::StagedSearch(const Invocation& invocation, const StageOptions& options, const RunOptions& run,
                           std::string skeleton, const RunDirectory& directory)
    : invocation_(invocation),
      options_(options),
      run_(run),
      skeleton_(std::move(skeleton)),
      folder_(directory.path()),
      command_(directory.info().at("command").get<std::vector<std::string>>()) {
  command_.erase(command_.begin(), command_.begin() + 2);  // program and verb
}

void StagedSearch::run() {
  search();
  if (options_.stage2_epochs > 0) eliminate();
  if (options_.stage3_seeds > 0) train_fully();
}

Json StagedSearch::part(const std::string& verb_name, const std::string& folder, const std::vector<std::string>& words,
                        const Configure& configure) const {
  const auto path = folder_ / folder;
  if (is_done(path)) return RunDirectory::view(path).result();
  const auto verb = Verb::Registry::instance().make(verb_name);
  OptionTable table;
  verb->declare(table);
  Invocation inner = invocation_;
  inner.verb = verb_name;
  inner.options = &table;
  inner.command_line = words;
  inner.json = true;  // what it prints for people is told by the whole
  const bool begun = std::filesystem::exists(path / "run.json");
  inner.resume = begun ? path.string() : "";
  if (begun) {
    table.read_toml_file(path / "options.toml");
  } else {
    configure(table);
  }
  for (const std::string name : {"threads", "checkpoint-seconds", "checkpoint-steps"}) {
    table.at("run." + name, "search").set(value_of(*invocation_.options, "run." + name), "search");
  }
  table.at("run.out", "search").set(path.string(), "search");
  verb->resolve(inner);
  verb->run(inner);
  return RunDirectory::view(path).result();
}

void StagedSearch::search() {
  for (int i = 0; i < options_.seeds; ++i) {
    const int64_t seed = run_.seed + i;
    const std::string folder = fmt::format("search-{}", i + 1);
    log::info("Stage 1, search {} of {} (seed {})", i + 1, options_.seeds, seed);
    std::vector<std::string> words = command_;
    words.insert(words.end(),
                 {"--seeds", "1", "--stage2-epochs", "0", "--stage3-seeds", "0", "--seed", std::to_string(seed)});
    const Json found = part("search", folder, words, [&](OptionTable& table) {
      for (const auto& option : invocation_.options->options()) {
        if (option.section() != "stages") table.at(option.key(), "search").set(option.value(), "search");
      }
      table.at("run.seed", "search").set(seed, "search");
    });
    const Genotype genotype = RunDirectory::view(folder_ / folder).genotype().value();
    auto known = std::find_if(candidates_.begin(), candidates_.end(),
                              [&](const Candidate& candidate) { return candidate.genotype == genotype; });
    if (known == candidates_.end()) {
      const int number = static_cast<int>(candidates_.size()) + 1;
      candidates_.push_back({.number = number, .genotype = genotype, .search = (folder_ / folder).string()});
      known = candidates_.end() - 1;
    }
    known->seeds.push_back(seed);
    Json entry = {{"seed", seed}, {"folder", folder}, {"candidate", known->number}};
    entry.update(found);
    searches_.push_back(std::move(entry));
  }
  // Before any judgement, what was found most often comes first.
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seeds.size() > b.seeds.size(); });
}

Json StagedSearch::train(const Candidate& candidate, const std::string& folder, int64_t seed,
                         const std::vector<std::string>& assignments) const {
  std::string recipe = options_.retrain;
  if (recipe.empty()) recipe = Skeleton::Registry::instance().at(skeleton_).facts.retraining;
  std::vector<std::string> words = {"--recipe", recipe, "--genotype", candidate.search, "--seed", std::to_string(seed)};
  std::vector<std::string> sets = options_.retrain_set;
  sets.insert(sets.end(), assignments.begin(), assignments.end());
  for (const auto& assignment : sets) words.insert(words.end(), {"--set", assignment});
  return part("train", folder, words, [&](OptionTable& table) {
    copy_data_options(*invocation_.options, table);
    table.read_toml(find_recipe(recipe).text, "recipe " + recipe);
    std::vector<std::string> typed = {"data.limit"};  // that of the search, which is scaled already
    for (const auto& assignment : sets) {
      table.read_assignment(assignment);
      typed.push_back(table.at(assignment.substr(0, assignment.find('=')), "--retrain-set").key());
    }
    table.at("train.genotype", "search").set(candidate.search, "search");
    table.at("run.seed", "search").set(seed, "search");
    if (options_.retrain_scale.empty()) return;
    apply_scale(Scale::parse(options_.retrain_scale),
                {.fewest_cells = Skeleton::Registry::instance().at(skeleton_).facts.fewest_cells}, typed, table);
  });
}

void StagedSearch::eliminate() {
  for (Candidate& candidate : candidates_) {
    log::info("Stage 2, candidate {} of {}: {} epochs", candidate.number, candidates_.size(), options_.stage2_epochs);
    const Json result = train(candidate, fmt::format("stage2-{}", candidate.number), run_.seed,
                              {fmt::format("train.epochs={}", options_.stage2_epochs),
                               fmt::format("data.valid-fraction={}", options_.stage2_valid_fraction)});
    candidate.valid_top1 = result.at("best").at("valid_top1").get<double>();
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.valid_top1 > b.valid_top1; });
  for (size_t i = 0; i < candidates_.size(); ++i) candidates_[i].kept = i < static_cast<size_t>(options_.stage2_keep);
}

void StagedSearch::train_fully() {
  for (Candidate& candidate : candidates_) {
    for (int i = 0; candidate.kept && i < options_.stage3_seeds; ++i) {
      log::info("Stage 3, candidate {}: training {} of {}", candidate.number, i + 1, options_.stage3_seeds);
      const Json result = train(candidate, fmt::format("stage3-{}-{}", candidate.number, i + 1), run_.seed + i, {});
      candidate.test_top1.push_back(result.at("test_top1").get<double>());
    }
  }
}

const Genotype& StagedSearch::best() const { return candidates_.front().genotype; }

Json StagedSearch::result() const {
  Json candidates = Json::array();
  for (const Candidate& candidate : candidates_) {
    Json entry = {
        {"candidate", candidate.number}, {"found_by_seeds", candidate.seeds}, {"cell", short_text(candidate.genotype)}};
    if (options_.stage2_epochs > 0) entry.update({{"valid_top1", candidate.valid_top1}, {"kept", candidate.kept}});
    if (!candidate.test_top1.empty()) {
      entry.update({{"test_top1", candidate.test_top1},
                    {"mean", mean(candidate.test_top1)},
                    {"deviation", deviation(candidate.test_top1)}});
    }
    candidates.push_back(std::move(entry));
  }
  Json result = {{"candidate", candidates_.front().number}};
  if (const auto& accuracies = candidates_.front().test_top1; !accuracies.empty()) {
    result.update({{"test_top1", mean(accuracies)}, {"test_top1_deviation", deviation(accuracies)}});
  }
  result["stages"] = {{"searches", searches_}, {"candidates", std::move(candidates)}};
  return result;
}

void StagedSearch::print() const {
  invocation_.print(fmt::format("\n{} searches found {} different cell{}.", options_.seeds, candidates_.size(),
                                candidates_.size() == 1 ? "" : "s"));
  invocation_.print(
      fmt::format("{:>9}  {:>12}  {:>17}  {:>18}  cell", "candidate", "seeds", "short training", "test accuracy"));
  for (const Candidate& candidate : candidates_) {
    const std::string judged = options_.stage2_epochs > 0
                                   ? fmt::format("{:.2f} %{}", candidate.valid_top1, candidate.kept ? "" : " (out)")
                                   : "";
    const std::string tested =
        candidate.test_top1.empty()
            ? ""
            : fmt::format("{:.2f} +- {:.2f} %", mean(candidate.test_top1), deviation(candidate.test_top1));
    invocation_.print(fmt::format("{:>9}  {:>12}  {:>17}  {:>18}  {}", candidate.number, seed_list(candidate.seeds),
                                  judged, tested, short_text(candidate.genotype)));
  }
}

}  // namespace nascent
