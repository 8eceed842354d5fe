// A planted answer for every recipe that asks a table or a metric: one operation on one edge is right by construction.
// The method must find it from every seed, and must not where the outcomes are shuffled among the architectures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/core/recipes.h"
#include "nascent/score/probe.h"
#include "nascent/search/method.h"
#include "nascent/search/search.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

constexpr int kSeeds = 6;

// The edge from the input to the output.
bool is_planted(const Genotype& genotype) { return genotype.cells[0].nodes[2].edges[0].op == "nor_conv_3x3"; }

class PlantedOutcome : public TableTest {
 protected:
  static void SetUpTestSuite() { log::set_level(log::Level::error); }

  // 90 % with the planted operation and 10 % without, and a little for every other convolution so that no two methods
  // stand still; or the same outcomes, given to other architectures.
  std::string table(bool shuffled) const {
    const auto space = find_space("nasbench201");
    const auto count = static_cast<int64_t>(space->count());
    const auto order = RandomStream(7, "planted").permutation(count);
    TableBuilder builder(space, "planted");
    for (int64_t i = 0; i < count; ++i) {
      const size_t row = builder.add(space->at(static_cast<double>(i)), -1);
      const Genotype source = space->at(static_cast<double>(shuffled ? order[i] : i));
      int convolutions = 0;
      for (const auto& node : source.cells[0].nodes) {
        for (const auto& edge : node.edges) convolutions += edge.op == "nor_conv_3x3" ? 1 : 0;
      }
      const double accuracy = (is_planted(source) ? 90 : 10) + convolutions;
      builder.set(row, parse_measure("toy_valid12"), accuracy);
      builder.set(row, parse_measure("toy_test12"), accuracy);
      builder.set(row, parse_measure("toy_train_seconds12"), 100);
    }
    const std::string file = path(shuffled ? "shuffled.table" : "planted.table");
    builder.write(file);
    return file;
  }

  // A pool whose metric says nothing: who finds the answer in it has asked the table.
  std::string pool(int seed) const {
    const auto space = find_space("nasbench201");
    std::string csv = "arch,trace,kappa\n";
    RandomStream random(static_cast<uint64_t>(seed), "pool");
    for (int i = 0; i < 120; ++i) {
      csv += fmt::format("{},{},{}\n", to_text(space->sample(random), "nasbench201"), 1 + random.uniform(),
                         1 + random.uniform());
    }
    return file("pool.csv", csv);
  }

  // How many of the seeds find it.
  int found_by(const std::string& recipe, const std::string& table_file, const std::string& label) const {
    int count = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      SearchOptions options;
      OptionTable table;
      options.declare(table);
      table.read_toml(find_recipe(recipe).text, recipe);
      options.table = table_file;
      options.judge = "table";
      options.judging.data = "toy";
      options.judging.budget = recipe == "reinforce" ? 40000 : 12000;
      if (find_method(options.method).facts.pool) {
        options.pool = {.file = pool(seed)};
        options.strategy.metric = "trace";
        options.judging.validations = 30;
      }
      options.run.seed = seed;
      options.run.threads = 1;
      options.run.out = path(fmt::format("{}-{}-{}", recipe, label, seed));
      options.resolve();
      Session session({.verb = "search", .recipe = recipe}, table, options.run);
      count += is_planted(search(options, session).genotype) ? 1 : 0;
    }
    return count;
  }
};

TEST_F(PlantedOutcome, EveryRecipeOfABlackBoxSearchFindsIt) {
  const std::string planted = table(false), shuffled = table(true);
  int recipes_tried = 0;
  for (const auto& recipe : recipes()) {
    if (recipe.verb() != "search") continue;
    const auto options = options_of<SearchOptions>(recipe);
    const auto& judges = find_method(options.method).facts.judges;
    if (options.space != "nasbench201" || std::find(judges.begin(), judges.end(), "table") == judges.end()) continue;
    if (options.judge.empty()) continue;  // it goes by its metric alone: below
    ++recipes_tried;
    EXPECT_EQ(found_by(recipe.name, planted, "planted"), kSeeds) << recipe.name;
    EXPECT_LT(found_by(recipe.name, shuffled, "shuffled"), kSeeds - 1) << recipe.name;
  }
  EXPECT_GE(recipes_tried, 8);
}

// The weights of 3x3 convolutions; and a number that has nothing to do with them.
NASCENT_REGISTER(Metric, "test-planted", "weights of the largest convolutions", [](Probe& probe) {
  double sum = 0;
  for (const Step& step : probe.tape().steps()) {
    if (step.weight.defined() && step.weight.dim() == 4 && step.weight.size(2) == 3) sum += 1;
  }
  return sum;
});
NASCENT_REGISTER(Metric, "test-shuffled", "chance", [](Probe& probe) {
  const auto count = static_cast<uint64_t>(probe.tape().steps().size());
  double sum = 0;
  for (const Step& step : probe.tape().steps()) {
    if (step.weight.defined()) sum += step.weight.abs().sum().item<double>();
  }
  RandomStream random(count, "shuffled", {static_cast<uint64_t>(sum * 1e6)});
  return random.uniform();
});

TEST_F(PlantedOutcome, TheBestOfASampleByAMetricIsFound) {
  const auto convolutions = [&](const std::string& metric, int seed) {
    SearchOptions options;
    OptionTable table;
    options.declare(table);
    table.read_toml(find_recipe("naswot").text, "naswot");
    options.strategy.metric = metric;
    options.pool.sample = 60;
    options.network.channels = 2;
    options.network.cells = 1;
    options.score.cache = "none";
    options.data.name = "random";
    options.data.size = 16;
    options.data.shape = {3, 8, 8};
    options.data.batch = 4;
    options.run.seed = seed;
    options.run.threads = 1;
    options.run.out = path(fmt::format("{}-{}", metric, seed));
    options.resolve();
    Session session({.verb = "search"}, table, options.run);
    int count = 0;
    const Genotype found = search(options, session).genotype;
    for (const auto& node : found.cells[0].nodes) {
      for (const auto& edge : node.edges) count += edge.op == "nor_conv_3x3" ? 1 : 0;
    }
    return count;
  };
  int planted = 0, shuffled = 0;
  for (int seed = 1; seed <= 4; ++seed) {
    EXPECT_GE(convolutions("test-planted", seed), 3) << "of 60 cells some have half their edges so";
    planted += convolutions("test-planted", seed + 10);
    shuffled += convolutions("test-shuffled", seed + 10);
  }
  EXPECT_GT(planted, shuffled + 4);
}

// `none` lets nothing through, so that its gradient, and with it the trace, is zero.
TEST_F(PlantedOutcome, NasiTakesWhatHasATraceAndLeavesItWhereTracesArePunished) {
  const std::string space =
      file("space.toml",
           "name = \"planted\"\nops = [\"none\", \"nor_conv_1x1\"]\nskeleton = \"nasbench201\"\ncells = 1\n"
           "[[cell]]\ntype = \"cell\"\ninputs = 1\nnodes = 1\nkeep = 1\n");
  const auto found = [&](double mu, double nu, int seed) {
    SearchOptions options;
    OptionTable table;
    options.declare(table);
    table.read_toml(find_recipe("nasi-nasbench201").text, "nasi");
    options.space = space;
    options.nasi.steps = 40;
    options.nasi.mu = mu;
    options.nasi.nu = nu;
    options.network.channels = 2;
    options.network.cells = 1;
    options.data.name = "random";
    options.data.size = 64;
    options.data.shape = {3, 8, 8};
    options.data.batch = 8;
    options.run.seed = seed;
    options.run.threads = 1;
    options.run.out = path(fmt::format("nasi-{}-{}", mu, seed));
    options.resolve();
    Session session({.verb = "search"}, table, options.run);
    return search(options, session).genotype.cells[0].nodes[0].edges[0].op;
  };
  for (int seed = 1; seed <= 4; ++seed) {
    EXPECT_EQ(found(0, 1, seed), "nor_conv_1x1") << seed;
    EXPECT_EQ(found(10, 1e-9, seed), "none") << seed;
  }
}

}  // namespace
}  // namespace nascent
