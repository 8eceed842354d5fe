// Every method behind the one door of 'nascent search': judges, pools, resumption, comparison.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/core/text.h"
#include "nascent/space/space.h"
#include "nascent/table/csv.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SearchMethods : public ProgramTest {
 protected:
  std::vector<std::string> sized(const std::string& verb) const {
    return {verb, "--data",     "random", "--size",  "64", "--shape",   "3,12,12", "--classes", "4",          "--batch",
            "8",  "--channels", "3",      "--cells", "1",  "--threads", "2",       "--cache",   path("cache")};
  }
  std::vector<std::string> searched(const std::string& method, const std::vector<std::string>& more) const {
    std::vector<std::string> all = sized("search");
    all.insert(all.end(), {"--method", method, "--space", "nasbench201"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // How many architectures were trained, by what was said.
  static int trainings(const std::string& said) {
    int count = 0;
    for (const auto& line : split(said, '\n')) {
      count += line.find("% after") != std::string::npos && line.find("known before") == std::string::npos ? 1 : 0;
    }
    return count;
  }
};

TEST_F(SearchMethods, SearchesLeaveAGenotypeThatCanBeTrained) {
  for (const std::string search : {"nasi", "maximise"}) {
    const Json found = json_of(
        search == "nasi" ? searched("nasi", {"--steps", "3", "--out", path(search)})
                         : searched("maximise", {"--sample", "5", "--metric", "naswot", "--out", path(search)}));
    EXPECT_EQ(found.at("genotype").at("space"), "nasbench201");
    EXPECT_EQ(nascent({"genotype", path(search)}).exit_code, 0);
  }
}

class TrainedSearch : public SearchMethods {
 protected:
  std::vector<std::string> search(const std::string& strategy, std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"--judge", "training", "--valid-fraction", "0.5", "--judge-epochs", "1", "--threads", "1"});
    return searched(strategy, more);
  }
  static std::vector<double> accuracies(const Json& result) {
    std::vector<double> found;
    for (const auto& trial : result.at("trials")) found.push_back(trial.at("valid"));
    return found;
  }
};

TEST_F(TrainedSearch, StrategiesTrainWhatTheyAskFor) {
  for (const std::string strategy : {"hnas", "rea", "bohb"}) {
    const std::string pool = strategy == "hnas" ? "12" : "0";
    const Json found =
        json_of(search(strategy, {"--sample", pool, "--validations", "4", "--initial", "2", "--out", path(strategy)}));
    const std::vector<double> valid = accuracies(found);
    EXPECT_EQ(valid.size(), 4u);
    EXPECT_EQ(found.at("valid_top1"), *std::max_element(valid.begin(), valid.end()));
    EXPECT_EQ(nascent({"genotype", path(strategy)}).exit_code, 0);
  }
}

TEST_F(TrainedSearch, KilledAndResumedItTrainsNothingTwice) {
  const auto command = search("random", {"--validations", "200", "--out", path("killed")});
  signalled_when(command, path("cache"), 2000, SIGKILL);
  const ProgramOutput rest = nascent({"search", "--resume", path("killed"), "--json"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  const Json whole =
      json_of(search("random", {"--validations", "200", "--cache", path("other"), "--out", path("whole")}));
  EXPECT_EQ(accuracies(Json::parse(rest.out)), accuracies(whole));
  // What was trained before the kill is in the run and was not trained again; the same command trains nothing at all.
  const ProgramOutput again = nascent(search("random", {"--validations", "200", "--out", path("again")}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, AllOf(HasSubstr("known before"), Not(HasSubstr("train: "))));
  EXPECT_LT(trainings(rest.err), 200);
}

TEST_F(TrainedSearch, MistakesAreAnswered) {
  EXPECT_THAT(nascent(search("rea", {"--valid-fraction", "0"})).err, HasSubstr("--valid-fraction"));
  const ProgramOutput without_pool = nascent(search("hnas", {"--out", path("none")}));
  EXPECT_EQ(without_pool.exit_code, 2);
  EXPECT_THAT(without_pool.err, HasSubstr("--sample N"));
  EXPECT_THAT(nascent(search("hnas", {"--sample", "5", "--metric", "tracee", "--out", path("none")})).err,
              HasSubstr("Did you mean 'trace'"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

// KNAS: of the best by the metric, the one with the best outcome; here a table's, by the architecture's index.
TEST_F(SearchMethods, WhatATableKnowsIsNotTrained) {
  const auto space = find_space("nasbench201");
  std::string csv = "index,arch,toy_valid12,toy_train_seconds12\n";
  space->enumerate([&](const Genotype& genotype) {
    const int index = static_cast<int>(space->index_of(genotype));
    csv += fmt::format("{},{},{},100\n", index, to_text(genotype, "nasbench201"), (index * 37) % 101 / 2.0);
    return true;
  });
  write_file(path("toy.csv"), csv);
  json_of({"table", "import", path("toy.csv"), "--out", path("toy.table")});
  {
    std::vector<std::string> words = sized("score");
    words.insert(words.end(),
                 {"--space", "nasbench201", "--sample", "12", "--metrics", "knas,kappa", "--csv", path("pool.csv")});
    json_of(words);
  }
  std::vector<std::pair<double, double>> pool;  // metric, outcome
  for (const auto& row : parse_csv(read_file(path("pool.csv")), "pool")) {
    if (row.fields[0] == "arch") continue;
    const auto index = static_cast<int>(space->index_of(parse_genotype(row.fields[0], "", "nasbench201")));
    pool.emplace_back(std::stod(row.fields[1]), (index * 37) % 101 / 2.0);
  }
  std::sort(pool.rbegin(), pool.rend());
  const Json found = json_of(searched(
      "zero-cost", {"--metric", "knas", "--sample", "12", "--validations", "4", "--table", path("toy.table"), "--judge",
                    "table", "--judge-data", "toy", "--table-schedule", "12", "--out", path("knas")}));
  ASSERT_EQ(found.at("trials").size(), 4u);
  double best = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.at("trials")[i].at("valid"), pool[i].second);
    EXPECT_EQ(found.at("trials")[i].at("seconds"), 100 * (i + 1));
    best = std::max(best, pool[i].second);
  }
  EXPECT_EQ(found.at("valid_top1"), best);
  // The method of NASWOT and KNAS is the same with a judge.
  const Json maximised = json_of(
      searched("maximise", {"--metric", "knas", "--sample", "12", "--validations", "4", "--table", path("toy.table"),
                            "--judge", "table", "--judge-data", "toy", "--out", path("max")}));
  EXPECT_EQ(maximised.at("trials"), found.at("trials"));
  const ProgramOutput other =
      nascent(searched("random", {"--table", path("toy.table"), "--judge", "table", "--judge-data", "toy",
                                  "--table-schedule", "13", "--out", path("none")}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("It has: 12"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

// A supernet's weights judge: the same search by the same supernet ends the same, also when it is resumed.
TEST_F(SearchMethods, SharedWeightsOfAFinishedSearchJudge) {
  std::vector<std::string> one_shot = sized("search");
  const auto cache = std::find(one_shot.begin(), one_shot.end(), "--cache");
  one_shot.erase(cache, cache + 2);
  one_shot.insert(one_shot.end(), {"--space", "nasbench201", "--epochs", "1", "--out", path("supernet")});
  json_of(one_shot);
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{"search",      "--method",       "rea",           "--judge", "shared",
                                    "--supernet",  path("supernet"), "--validations", "12",      "--space",
                                    "nasbench201", "--out",          path(out)};
  };
  const Json found = json_of(command("a"));
  EXPECT_EQ(found.at("trials").size(), 12u);
  EXPECT_GE(found.at("valid_top1").get<double>(), 0);
  EXPECT_EQ(json_of(command("b")).at("genotype"), found.at("genotype"));
  EXPECT_EQ(json_of({"search", "--resume", path("a")}).at("trials"), found.at("trials"));
  EXPECT_THAT(
      nascent({"search", "--method", "rea", "--judge", "shared", "--supernet", path("a"), "--space", "nasbench201"})
          .err,
      HasSubstr("expected one one-shot search"));
}

TEST_F(SearchMethods, AMetricJudges) {
  const Json found = json_of(searched("local-search", {"--judge", "metric", "--judge-metric", "params", "--validations",
                                                       "400", "--out", path("params")}));
  EXPECT_EQ(found.at("genotype_text"),
            "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|"
            "nor_conv_3x3~2|")
      << "the cell with the most parameters";
  EXPECT_FALSE(found.contains("valid_top1")) << "a metric is no accuracy";
}

TEST_F(SearchMethods, KilledAtAnyMomentSearchesAtInitialisationEndTheSame) {
  for (const std::string method : {"nasi", "te-nas"}) {
    const auto command = [&](const std::string& out) {
      std::vector<std::string> words = searched(method, {"--checkpoint-steps", "1", "--out", path(out)});
      const std::vector<std::string> size =
          method == "nasi"
              ? std::vector<std::string>{"--steps", "20", "--nu", "1", "--estimator", "least-squares"}
              : std::vector<std::string>{"--repeats", "1", "--kernel-images", "4", "--region-images", "16"};
      words.insert(words.end(), size.begin(), size.end());
      return words;
    };
    json_of(command(method + "-whole"));
    EXPECT_GE(stopped_until_it_ends(command(method + "-parts"), method + "-parts", SIGKILL), 1) << method;
    EXPECT_EQ(read_file(path(method + "-whole/genotype.json")), read_file(path(method + "-parts/genotype.json")))
        << method;
  }
}

TEST_F(SearchMethods, EveryResultSaysWhatFoundIt) {
  json_of(searched("nasi", {"--steps", "2", "--seed", "7", "--out", path("found")}));
  const Json stored = Json::parse(read_file(path("found/result.json")));
  EXPECT_EQ(stored.at("method"), "nasi");
  EXPECT_EQ(stored.at("recipe"), "");
  EXPECT_EQ(stored.at("seed"), 7);
  EXPECT_GT(stored.at("seconds").get<double>(), 0);
  EXPECT_EQ(parse_genotype(stored.at("genotype_text").get<std::string>()),
            parse_genotype(stored.at("genotype").dump(), "json"));
}

TEST_F(SearchMethods, WhatAMethodDoesNotReadIsRefused) {
  const auto check = [&](const std::vector<std::string>& words, const std::string& text) {
    const auto result = nascent(words);
    EXPECT_EQ(result.exit_code, 2) << join(words, " ");
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  check(searched("nasi", {"--population", "3"}), "strategy.population");
  check(searched("rea", {"--epochs", "3"}), "search.epochs");
  check({"search", "--space", "nasbench201", "--data", "random", "--nu", "3"}, "nasi.nu");
  check(searched("nasi", {"--judge", "table"}), "judges by itself");
  check(searched("rea", {"--judge", "table"}), "--table FILE");
  check(searched("rea", {"--judge", "shared"}), "--supernet RUN");
  check(searched("te-nas", {"--space", "nasbench1shot1-s1"}), "Use --method nasi");
  check({"search", "--method", "raе"}, "search.method");
}

}  // namespace
}  // namespace nascent
