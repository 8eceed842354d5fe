#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/space/space.h"
#include "nascent/table/csv.h"

namespace nascent {
namespace {

using testing::HasSubstr;

class Score : public ProgramTest {
 protected:
  std::vector<std::string> score(std::vector<std::string> more) const {
    std::vector<std::string> all = {"score",     "--data",    "random",  "--size",  "64",         "--shape", "3,12,12",
                                    "--classes", "4",         "--batch", "8",       "--channels", "3",       "--cells",
                                    "1",         "--threads", "2",       "--cache", path("cache")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(Score, OneArchitecture) {
  const Json scores = json_of(score({"nasbench201:1234", "--metrics", "trace,kappa,params"}));
  EXPECT_GT(scores.at("trace").get<double>(), 0);
  EXPECT_GT(scores.at("kappa").get<double>(), 1);
  EXPECT_EQ(nascent(score({"nasbench201:1234", "--metrics", "trace"})).exit_code, 0);
}

TEST_F(Score, ASampleGoesToACsvFileAndIsKnownTheNextTime) {
  const Json first = json_of(score({"--sample", "6", "--csv", path("a.csv")}));
  EXPECT_EQ(first.at("computed"), 6);
  const Json again = json_of(score({"--sample", "6", "--csv", path("b.csv")}));
  EXPECT_EQ(again.at("computed"), 0);
  EXPECT_EQ(read_file(path("a.csv")), read_file(path("b.csv")));
  EXPECT_THAT(read_file(path("a.csv")), HasSubstr("arch,grad,snip,grasp,trace,kappa\n|"));
}

TEST_F(Score, AKilledScoringLosesAtMostWhatIsInFlight) {
  const auto command = score({"--sample", "300", "--csv", path("killed.csv")});
  signalled_when(command, path("cache"), 2000, SIGKILL);
  const Json rest = json_of(command);
  EXPECT_LT(rest.at("computed").get<int>(), 300);
  auto whole = command;
  whole.insert(whole.end(), {"--cache", "none", "--csv", path("whole.csv")});
  json_of(whole);
  EXPECT_EQ(read_file(path("killed.csv")), read_file(path("whole.csv")));
}

TEST_F(Score, SearchesLeaveAGenotypeThatCanBeTrained) {
  for (const std::string search : {"nasi", "maximise"}) {
    const Json found = json_of(
        score({"--search", search, "--sample", search == "nasi" ? "0" : "5", "--steps", "3", "--out", path(search)}));
    EXPECT_EQ(found.at("genotype").at("space"), "nasbench201");
    EXPECT_EQ(nascent({"genotype", path(search)}).exit_code, 0);
  }
}

class TrainedSearch : public Score {
 protected:
  std::vector<std::string> search(const std::string& strategy, std::vector<std::string> more) const {
    more.insert(more.begin(), {"--search", strategy, "--valid-fraction", "0.5", "--epochs", "1", "--threads", "1"});
    return score(more);
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
  const ProgramOutput rest = nascent({"score", "--resume", path("killed"), "--json"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("known before"));
  const Json whole =
      json_of(search("random", {"--validations", "200", "--cache", path("other"), "--out", path("whole")}));
  EXPECT_EQ(accuracies(Json::parse(rest.out)), accuracies(whole));
}

TEST_F(TrainedSearch, MistakesAreAnswered) {
  EXPECT_THAT(nascent(score({"--search", "rea"})).err, HasSubstr("--valid-fraction"));
  const ProgramOutput without_pool = nascent(search("hnas", {"--out", path("none")}));
  EXPECT_EQ(without_pool.exit_code, 2);
  EXPECT_THAT(without_pool.err, HasSubstr("--sample N"));
  EXPECT_THAT(nascent(search("hnas", {"--sample", "5", "--metric", "tracee", "--out", path("none")})).err,
              HasSubstr("Did you mean 'trace'"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

// KNAS: of the best by the metric, the one with the best outcome; here a table's, by the architecture's index.
TEST_F(Score, WhatATableKnowsIsNotTrained) {
  const auto space = find_space("nasbench201");
  std::string csv = "index,arch,toy_valid12,toy_train_seconds12\n";
  space->enumerate([&](const Genotype& genotype) {
    const int index = static_cast<int>(space->index_of(genotype));
    csv += fmt::format("{},{},{},100\n", index, to_text(genotype, "nasbench201"), (index * 37) % 101 / 2.0);
    return true;
  });
  write_file(path("toy.csv"), csv);
  json_of({"table", "import", path("toy.csv"), "--out", path("toy.table")});
  json_of(score({"--sample", "12", "--metrics", "knas,kappa", "--csv", path("pool.csv")}));
  std::vector<std::pair<double, double>> pool;  // metric, outcome
  for (const auto& row : parse_csv(read_file(path("pool.csv")), "pool")) {
    if (row.fields[0] == "arch") continue;
    const auto index = static_cast<int>(space->index_of(parse_genotype(row.fields[0], "", "nasbench201")));
    pool.emplace_back(std::stod(row.fields[1]), (index * 37) % 101 / 2.0);
  }
  std::sort(pool.rbegin(), pool.rend());
  const Json found =
      json_of(score({"--search", "zero-cost", "--metric", "knas", "--sample", "12", "--validations", "4", "--lookup",
                     path("toy.table"), "--measure", "toy_valid12", "--epochs", "12", "--out", path("knas")}));
  ASSERT_EQ(found.at("trials").size(), 4u);
  double best = 0;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(found.at("trials")[i].at("valid"), pool[i].second);
    EXPECT_EQ(found.at("trials")[i].at("seconds"), 100 * (i + 1));
    best = std::max(best, pool[i].second);
  }
  EXPECT_EQ(found.at("valid_top1"), best);
  const ProgramOutput other = nascent(score({"--search", "random", "--lookup", path("toy.table"), "--measure",
                                             "toy_valid12", "--epochs", "13", "--out", path("none")}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("It has: 12"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(Score, MistakesAreAnswered) {
  EXPECT_THAT(nascent(score({})).err, HasSubstr("found none of these"));
  EXPECT_THAT(nascent(score({"darts-v2", "nasbench201:3"})).err, HasSubstr("one space at a time"));
  EXPECT_THAT(nascent(score({"--space", "darts", "--all"})).err, HasSubstr("Use --sample"));
  EXPECT_THAT(nascent(score({"darts-v2", "--metrics", "snap"})).err, HasSubstr("Did you mean 'snip'"));
  EXPECT_THAT(nascent(score({"darts-v2", "--batch", "100"})).err, HasSubstr("only 64"));
  EXPECT_EQ(nascent(score({"--search", "te-nas", "--space", "nasbench1shot1-s1"})).exit_code, 2);
}

}  // namespace
}  // namespace nascent
