#include "nascent/search/search_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "nascent/core/error.h"
#include "nascent/data/dataset.h"
#include "nascent/search/judge.h"
#include "nascent/search/method.h"

namespace nascent {

void PoolOptions::declare(OptionTable& table) {
  auto section = table.section("pool", "Candidate architectures for hnas, zero-cost, rea-warm-up and maximise.");
  section
      .add(
          "file", file,
          "file with their training-free metrics, as written by 'nascent score --csv', or its cache (.scores), instead "
          "of --all or --sample; empty: compute them")
      .flag("pool");
  section.add("all", all, "all architectures of the space");
  section.add("sample", sample, "this many architectures, sampled at random").range(0, 1e9);
}

void JudgeOptions::declare(OptionTable& table) {
  auto section = table.section("judge", "How proposed architectures are evaluated.");
  section
      .add("validations", validations,
           "maximum number of architectures to evaluate; 0: as many as the budget allows with a table, 25 otherwise")
      .range(0, 1e7);
  section
      .add(
          "in-flight", in_flight,
          "proposals evaluated at once: each is made knowing all outcomes but the last so many, however many processes "
          "there are")
      .range(1, 100000);
  section
      .add("budget", budget,
           "table: simulated seconds, by the table's training times; 0: 12000, unless --validations is given")
      .range(0, 1e12);
  section.add("data", data, "table: data set whose validation accuracy guides the search").flag("judge-data");
  section.add("schedule", schedule, "table: training schedule whose validation accuracy is used, such as 12")
      .flag("table-schedule");
  section.add("epochs", epochs, "training: epochs per architecture").range(1, 100000).flag("judge-epochs");
  section.add("supernet", supernet, "shared: run folder of a finished one-shot search whose shared weights are used");
  section.add("metric", metric, "metric: the training-free metric to use").flag("judge-metric");
}

void StageOptions::declare(OptionTable& table) {
  auto section =
      table.section("stages", "Several searches, and how the cells they find are compared and trained (GAEA, C.1).");
  section.add("seeds", seeds, "number of searches, with consecutive seeds starting at run.seed").range(1, 10000);
  section.add("stage2-epochs", stage2_epochs, "epochs of the short training used to eliminate cells; 0: no elimination")
      .range(0, 100000);
  section.add("stage2-keep", stage2_keep, "cells to keep after the short training").range(1, 10000);
  section
      .add("stage2-valid-fraction", stage2_valid_fraction,
           "fraction of the training images held out to compare cells after the short training")
      .range(0.001, 0.9);
  section.add("stage3-seeds", stage3_seeds, "full trainings of each remaining cell, with different seeds; 0: none")
      .range(0, 10000);
  section.add("retrain", retrain,
              "recipe or .toml file for these trainings; empty: retrain-cifar for DARTS networks, retrain-nasbench201 "
              "otherwise");
  section.add("retrain-scale", retrain_scale, "--scale for these trainings; empty: same as the search");
  section.add("retrain-set", retrain_set, "options for these trainings, such as \"train.epochs=20\"");
}

void ComparisonOptions::declare(OptionTable& table) {
  auto section = table.section("compare", "Compare several methods, each with --seeds seeds.");
  section.add("recipes", recipes, "recipes or .toml files to compare; empty: run a single search");
  section.add("set", set, "options for every search, such as \"data.batch=16\"; options on the command line are added")
      .flag("compare-set");
  section.add("scale", scale, "--scale for every search").flag("compare-scale");
  section.add("plot", plot,
              "plot accuracy against cost, with mean and standard deviation, to this .svg file (needs --table)");
  section.add("csv", csv, "write the same curves to this .csv file (needs --table)");
}

namespace {

constexpr const char* kHelp = "What is searched and how; from 'epochs' on, the choices of one-shot searches.";

std::vector<std::string> judge_names() {
  std::vector<std::string> names = Judge::Registry::instance().names();
  names.insert(names.begin(), "");
  return names;
}

}  // namespace

void SearchOptions::declare(OptionTable& table) {
  auto section = table.section("search", kHelp);
  section.add("method", method, "search method").one_of(method_names());
  section.add("judge", judge, "how proposed architectures are evaluated; empty: the method's default")
      .one_of(judge_names());
  declare_problem(table);
  pool.declare(table);
  strategy.declare(table);
  judging.declare(table);
  train.declare_without_epochs(table);
  score.declare(table);
  nasi.declare(table);
  te_nas.declare(table);
  comparison.declare(table);
  declare_rest(table);
}

void SearchOptions::declare_one_shot(OptionTable& table) {
  declare_problem(table);
  declare_rest(table);
}

void SearchOptions::declare_problem(OptionTable& table) {
  auto section = table.section("search", kHelp);
  section.add(
      "space", space,
      "search space: a name ('nascent space' lists them) or a .toml file; empty: the table's with --judge table, "
      "otherwise darts");
  section.add("table", this->table,
              "benchmark table: evaluates architectures with --judge table, and reports rank and regret of the result");
  one_shot.declare(table);
}

void SearchOptions::declare_rest(OptionTable& table) {
  stages.declare(table);
  network.declare(table);
  data.declare(table);
  run.declare(table);
}

namespace {

bool reads_table(const std::string& judge) {
  return !judge.empty() && Judge::Registry::instance().at(judge).facts.table;
}

// The judge that is used where none is named.
std::string usual_judge(const MethodEntry& method, const SearchOptions& options) {
  const auto& judges = method.facts.judges;
  if (judges.empty()) return "";
  if (options.table.empty() || judges.front().empty()) return judges.front();
  const auto by_table = std::find_if(judges.begin(), judges.end(), reads_table);
  return by_table != judges.end() ? *by_table : judges.front();
}

void check_judge(const MethodEntry& method, const std::string& judge) {
  const auto& judges = method.facts.judges;
  if (judge.empty() || std::find(judges.begin(), judges.end(), judge) != judges.end()) return;
  std::vector<std::string> known = judges;
  std::erase(known, "");
  fail("--judge {}: the method '{}' {}.", judge, method.name,
       known.empty() ? "judges by itself and takes none" : "takes " + join(known, ", "));
}

}  // namespace

void SearchOptions::resolve(const std::string& resume) {
  if (!comparison.recipes.empty()) return;  // every recipe has a space and a method of its own
  const auto copy = std::filesystem::path(resume) / "space.toml";
  if (!resume.empty() && space.ends_with(".toml") && std::filesystem::exists(copy)) space = copy.string();
  const MethodEntry entry = find_method(method);
  if (judge.empty()) judge = usual_judge(entry, *this);
  check_judge(entry, judge);
  if (space.empty()) space = reads_table(judge) && !table.empty() ? BenchmarkTable(table).space()->name() : "darts";
  if (!judge.empty()) {
    const bool clock = Judge::Registry::instance().at(judge).facts.clock;
    if (judging.validations == 0 && !clock) judging.validations = 25;
    if (judging.validations == 0 && judging.budget == 0) judging.budget = 12000;
  }
  const auto found = find_space(space);
  if (network.channels == 0) network.channels = found->default_channels();
  if (network.cells == 0) network.cells = found->default_cells();
  if (network.skeleton.empty()) network.skeleton = found->skeleton();
}

ScaleLimits SearchOptions::scale_limits() const {
  const double held_out = data.valid_fraction;
  const double smaller_part = held_out > 0 ? std::min(held_out, 1 - held_out) : 1;
  return {.fewest_cells = Skeleton::Registry::instance().at(network.skeleton).facts.fewest_cells,
          .fixed_cells = find_space(space)->own_cells(),
          .fewest_images = static_cast<int64_t>(std::ceil(data.batch / smaller_part)),
          .all_images = [this] { return load_dataset(data, Part::train, run.seed)->size(); }};
}

}  // namespace nascent
