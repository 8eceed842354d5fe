#include <gmock/gmock.h>

#include "cli/program.h"

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

TEST_F(Score, MistakesAreAnswered) {
  EXPECT_THAT(nascent(score({})).err, HasSubstr("found none of these"));
  EXPECT_THAT(nascent(score({"darts-v2", "nasbench201:3"})).err, HasSubstr("one space at a time"));
  EXPECT_THAT(nascent(score({"--space", "darts", "--all"})).err, HasSubstr("Use --sample"));
  EXPECT_THAT(nascent(score({"darts-v2", "--metrics", "snap"})).err, HasSubstr("Did you mean 'snip'"));
  EXPECT_THAT(nascent(score({"darts-v2", "--batch", "100"})).err, HasSubstr("only 64"));
}

TEST_F(Score, SearchesHaveMoved) {
  const ProgramOutput result = nascent(score({"--search", "nasi", "--steps", "3"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("nascent search --method nasi"));
}

TEST_F(Score, ScoresOfSeveralArchitecturesAreInTheResult) {
  const Json result = json_of(score({"nasbench201:1234", "nasbench201:4321", "--metrics", "params"}));
  ASSERT_EQ(result.at("scores").size(), 2u);
  EXPECT_GT(result.at("scores")[1].at("params").get<double>(), 0);
}

}  // namespace
}  // namespace nascent
