#include "nascent/cluster/ranks.h"

#include <gmock/gmock.h>

#include "mpirun.h"
#include "nascent/cluster/farm.h"
#include "nascent/cluster/launch.h"
#include "nascent/core/cores.h"
#include "temporary_folder.h"

namespace nascent::cluster {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

constexpr const char* kSquares = "0 1 4 9 16 25 36 49 64 81 100 121 ";

class Ranks : public testing::Test {
 protected:
  void SetUp() override {
#ifndef NASCENT_HAS_MPI
    GTEST_SKIP() << "built without MPI";
#endif
    NASCENT_SKIP_WITHOUT_MPIRUN();
  }

  MpiRun::Output ranks(int count, const std::string& scenario) {
    return MpiRun(folder_.path()).run(count, {program(), "--as-rank", scenario});
  }

  // Exit code 2 and one such line on the terminal.
  void expect_error(int count, const std::string& scenario, const std::string& text) {
    const MpiRun::Output output = ranks(count, scenario);
    EXPECT_EQ(output.exit_code, 2) << scenario << ": " << output.err;
    EXPECT_THAT(output.err, HasSubstr(text));
    EXPECT_EQ(output.err.find("error: "), output.err.rfind("error: ")) << output.err;
    EXPECT_LT(output.seconds, 30);
  }

  TemporaryFolder folder_;
};

TEST(Alone, ThereIsOneRank) {
  EXPECT_EQ(rank(), 0);
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(with_ranks([] { return 7; }), 7);
  agree({{"version", "1"}});  // with itself
  require_work(1, "architectures");
}

TEST_F(Ranks, ResultsComeInTheOrderOfTheWorkOnAnyNumber) {
  for (const int count : {1, 2, 3}) {
    const MpiRun::Output output = ranks(count, "farm");
    EXPECT_EQ(output.exit_code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr(kSquares));
    EXPECT_THAT(output.out, HasSubstr(fmt::format("by {}\n", count))) << "no rank only waits";
  }
}

TEST_F(Ranks, SeveralThreadsEach) { EXPECT_THAT(ranks(2, "threads").out, HasSubstr(kSquares)); }

TEST_F(Ranks, WorkMayGrowWhileItIsDone) {
  for (const int count : {1, 2}) EXPECT_THAT(ranks(count, "growing").out, HasSubstr(kSquares));
}

TEST_F(Ranks, OneFarmAfterAnother) {
  const std::string out = ranks(2, "two farms").out;
  EXPECT_THAT(out, HasSubstr("0 1 4 9 16 by"));
  EXPECT_THAT(out, HasSubstr("0 1 4 9 16 25 36 by"));
}

TEST_F(Ranks, ATeamExchangesInTheOrderOfTheRanks) {
  EXPECT_THAT(ranks(2, "team").out, HasSubstr("0>0 1>0 in 20"));
  EXPECT_THAT(ranks(3, "team").out, HasSubstr("0>0 1>0 2>0 in 20"));
}

TEST_F(Ranks, ATeamEndsWithWhoeverFails) {
  expect_error(3, "bad companion", "Round 3 is bad.");
  expect_error(3, "bad leader", "Round 3 is bad.");
  expect_error(3, "team without data", "The folder 'pictures' is not there.");
  expect_error(3, "team with other data", "the data there are not those of rank 0");
  EXPECT_EQ(ranks(3, "team signal").exit_code, 130);
}

TEST_F(Ranks, AnErrorAnywhereIsSaidOnceAndEndsAll) {
  expect_error(3, "bad piece", "Piece 3 is bad.");
  expect_error(2, "no data", "The folder 'pictures' is not there.");
  expect_error(3, "other data", "the data there are not those of rank 0");
  expect_error(2, "disagree", "options.data.batch is 32 there and 64 on rank 0");
  expect_error(3, "one fails early", "There is no file 'mine.toml'.");
  expect_error(3, "one ends early", "it was asked for something else and has ended");
  expect_error(2, "rank 0 fails", "There is no space 'dorts'.");
  expect_error(3, "too many", "There are 3 ranks but only 2 architectures");
}

TEST_F(Ranks, ASignalToOneStopsAll) {
  const MpiRun::Output output = ranks(3, "signal");
  EXPECT_EQ(output.exit_code, 130) << output.err;
  EXPECT_THAT(output.out, Not(HasSubstr("by")));
}

TEST_F(Ranks, LongMessagesTravelInParts) {
  const MpiRun::Output output = ranks(3, "parts");
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(output.out, "all as sent\n");
}

TEST_F(Ranks, ShareTheCoresOfTheirMachine) {
  const int cores = count(usable_cores());
  for (const int ranks_here : {1, 2}) {
    EXPECT_EQ(ranks(ranks_here, "neighbours").out,
              fmt::format("{} threads, {} here\n", std::max(1, cores / ranks_here), ranks_here));
  }
}

TEST_F(Ranks, WaitingCostsNextToNothing) {
  const MpiRun::Output output = ranks(2, "waiting");
  EXPECT_EQ(output.exit_code, 0) << output.err;
}

// Its variables say three processes. MPI, which does not know them, finds itself alone, or with another number.
TEST_F(Ranks, ALauncherOfAnotherMpiIsNoticed) {
  for (const int count : {1, 2}) {
    std::vector<std::string> words;
    for (int rank = 0; rank < count; ++rank) {
      if (!words.empty()) words.emplace_back(":");
      words.insert(words.end(), {"-n", "1", "env", "-u", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE=3",
                                 "PMI_RANK=" + std::to_string(rank), program(), "--as-rank", "farm"});
    }
    const MpiRun::Output output = MpiRun(folder_.path()).run(0, words);
    EXPECT_EQ(output.exit_code, 2) << output.err;
    EXPECT_THAT(output.err, HasSubstr(fmt::format("The launcher started 3 processes, but MPI knows of {}", count)));
    EXPECT_EQ(output.err.find("error: "), output.err.rfind("error: ")) << output.err;
    EXPECT_LT(output.seconds, 30);
  }
}

TEST(Launcher, IsReadFromTheEnvironment) {
  EXPECT_FALSE(launch().several());
  setenv("SLURM_NTASKS", "4", 1);  // a batch script knows it too
  EXPECT_FALSE(launch().several());
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  setenv("SLURM_PROCID", "3", 1);
  EXPECT_EQ(launch().size, 4);
  EXPECT_EQ(launch().rank, 3);
  for (const char* variable : {"SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}) unsetenv(variable);
}

}  // namespace
}  // namespace nascent::cluster
