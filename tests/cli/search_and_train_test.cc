#include <gmock/gmock.h>

#include "cli/program.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// Options of runs small enough for a test: random images, a few steps.
class SearchAndTrain : public ProgramTest {
 protected:
  static std::vector<std::string> small_data() {
    return {"--data",    "random", "--size",  "64", "--shape",   "3,12,12",
            "--classes", "4",      "--batch", "8",  "--threads", "1"};
  }
  std::vector<std::string> search(const std::string& out, std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"search", "--space",  "nasbench201", "--channels", "4",       "--cells",
                                    "1",      "--epochs", "3",           "--out",      path(out), "--checkpoint-steps",
                                    "1"};
    for (const auto& word : small_data()) all.push_back(word);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> train(const std::string& out, const std::string& genotype) const {
    std::vector<std::string> all = {"train", "--genotype", genotype, "--channels", "4",       "--cells",
                                    "1",     "--epochs",   "4",      "--out",      path(out), "--checkpoint-steps",
                                    "1"};
    for (const auto& word : small_data()) all.push_back(word);
    return all;
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }
};

TEST_F(SearchAndTrain, LeaveACompleteRunBehind) {
  const Json found = json_of(search("found"));
  EXPECT_EQ(found.at("genotype").at("space"), "nasbench201");
  for (const std::string name :
       {"options.toml", "run.json", "events.sqlite", "genotype.json", "genotype.txt", "result.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "found" / name)) << name;
  }
  const std::string report = bytes("found/report.html");
  EXPECT_THAT(report, HasSubstr("<svg"));
  EXPECT_THAT(bytes("found/genotype.txt"), HasSubstr("~0|+|"));

  const Json trained = json_of(train("trained", path("found")));
  const Json scored = json_of({"eval", path("trained/model.nascent"), "--data", "random", "--size", "64", "--shape",
                               "3,12,12", "--classes", "4", "--threads", "1"});
  // The random data of another seed is other data; the same file scores the same way twice.
  EXPECT_EQ(scored.at("images"), 64);
  EXPECT_TRUE(trained.at("test_top1").is_number());
  EXPECT_EQ(nascent({"report", path("trained")}).exit_code, 0);
}

TEST_F(SearchAndTrain, TerminalShowsTheCellAndThePaths) {
  const auto result = nascent(search("found"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::AllOf(HasSubstr("~0|+|"), HasSubstr("report.html"), HasSubstr("genotype.json")));
}

TEST_F(SearchAndTrain, TheSameSeedGivesTheSameBytes) {
  json_of(search("a"));
  json_of(search("b", {"--workers", "3"}));
  json_of(search("c", {"--seed", "2"}));
  EXPECT_EQ(bytes("a/genotype.json"), bytes("b/genotype.json"));
  const auto last = [&](const std::string& run) { return bytes(run + "/checkpoints/checkpoint-12.nascent"); };
  EXPECT_EQ(last("a"), last("b"));
  EXPECT_NE(last("a"), last("c"));
}

TEST_F(SearchAndTrain, CtrlCWritesACheckpointAndResumeEndsTheSame) {
  json_of(train("whole", "nasbench201:4321"));
  EXPECT_GE(stopped_until_it_ends(train("parts", "nasbench201:4321"), "parts", SIGINT), 1);
  EXPECT_EQ(bytes("whole/model.nascent"), bytes("parts/model.nascent"));
  EXPECT_EQ(bytes("whole/result.json"), bytes("parts/result.json"));
}

TEST_F(SearchAndTrain, KilledAtAnyMomentResumeEndsTheSame) {
  const std::vector<std::string> longer = {"--epochs", "40"};
  json_of(search("whole", longer));
  EXPECT_GE(stopped_until_it_ends(search("parts", longer), "parts", SIGKILL), 2);
  EXPECT_EQ(bytes("whole/genotype.json"), bytes("parts/genotype.json"));
  EXPECT_EQ(bytes("whole/checkpoints/checkpoint-160.nascent"), bytes("parts/checkpoints/checkpoint-160.nascent"));
}

TEST_F(SearchAndTrain, ResumeKeepsTheOptions) {
  json_of(search("found"));
  const auto refused = nascent({"search", "--resume", path("found"), "--epochs", "9"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a resumed run keeps its options"));
  EXPECT_EQ(nascent({"search", "--resume", path("found")}).exit_code, 0) << "a finished run is only concluded again";
  const auto again = nascent(search("found"));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
}

TEST_F(SearchAndTrain, ANonFiniteLossNamesStepBatchAndCheckpoint) {
  std::vector<std::string> arguments = train("wild", "nasbench201:15624");
  for (const std::string word : {"--lr", "1000", "--clip", "0"}) arguments.push_back(word);
  const auto result = nascent(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("step"), HasSubstr("images"), HasSubstr("checkpoint")));
}

// It left a run that "ended before it was done" and no report.
TEST_F(SearchAndTrain, AFailureInTheEndIsToldByTheRun) {
  json_of(train("trained", "nasbench201:4321"));
  std::filesystem::remove(path("trained/model.nascent"));
  std::filesystem::create_directories(path("trained/model.nascent/in-the-way"));
  EXPECT_NE(nascent({"train", "--resume", path("trained")}).exit_code, 0);
  const Json run = Json::parse(bytes("trained/run.json"));
  EXPECT_EQ(run.at("status"), "failed");
  EXPECT_THAT(run.at("message").get<std::string>(), HasSubstr("model.nascent"));
  EXPECT_THAT(bytes("trained/report.html"), HasSubstr("The run failed"));
}

TEST_F(SearchAndTrain, SearchesASpaceOfTheUsersOwn) {
  write_file(
      path("mine.toml"),
      "name = \"mine\"\nops = [\"skip_connect\", \"sep_conv_3x3\"]\ncells = 3\n[[cell]]\ntype = \"normal\"\nnodes = 2\n"
      "[[cell]]\ntype = \"reduce\"\nnodes = 2\n");
  std::vector<std::string> arguments = {"search",     "--space", path("mine.toml"), "--epochs",  "1",
                                        "--channels", "4",       "--out",           path("mine")};
  for (const auto& word : small_data()) arguments.push_back(word);
  EXPECT_EQ(json_of(arguments).at("genotype").at("space"), "mine");
  std::filesystem::remove(path("mine.toml"));
  // 'genotype RUN' and 'score RUN' said: there is no search space 'mine'.
  EXPECT_GT(json_of({"genotype", path("mine"), "--cells", "3"}).at("parameters").get<double>(), 0);
  std::vector<std::string> scoring = {"score", path("mine"), "--metrics", "params", "--cells", "3", "--channels", "4"};
  for (const auto& word : small_data()) scoring.push_back(word);
  EXPECT_GT(json_of(scoring).at("params").get<double>(), 0);
  std::vector<std::string> training = train("trained", path("mine"));
  training[6] = "3";  // --cells
  json_of(training);
  const Json scored =
      json_of({"eval", path("trained/model.nascent"), "--data", "random", "--shape", "3,12,12", "--classes", "4"});
  EXPECT_EQ(scored.at("images"), 1024);
}

}  // namespace
}  // namespace nascent
