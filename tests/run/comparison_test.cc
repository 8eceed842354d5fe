#include "nascent/run/comparison.h"

#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/run/run_list.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

using testing::HasSubstr;

struct SeededOptions {
  double lr = 0.1;
  int64_t seed = 1;
  std::string out;
  void declare(OptionTable& table) {
    table.section("train", "Training.").add("lr", lr, "learning rate");
    auto run = table.section("run", "Run.");
    run.add("seed", seed, "seed");
    run.add("out", out, "folder");
  }
};

class ComparisonTest : public testing::Test {
 protected:
  std::filesystem::path made(const std::string& name, double lr, int64_t seed, double top1) {
    SeededOptions options{lr, seed, name};
    OptionTable table;
    options.declare(table);
    RunDirectory run = RunDirectory::create(folder_ / name, sample_description(), table);
    run.write_result({{"test_top1", top1}, {"parameters", 100}, {"best", {{"epoch", 2}}}});
    run.finish(RunStatus::done);
    return folder_ / name;
  }
  TemporaryDirectory folder_;
};

TEST_F(ComparisonTest, GroupsSeedsAndTestsPairs) {
  const Comparison comparison = compare_runs({made("a1", 0.1, 1, 90), made("a2", 0.1, 2, 92), made("a9", 0.1, 9, 50),
                                              made("b1", 0.2, 1, 91), made("b2", 0.2, 2, 95)});
  EXPECT_THAT(comparison.names, testing::ElementsAre("a1", "a2", "a9", "b1", "b2"));
  ASSERT_EQ(comparison.options.size(), 2U) << "the seed and the learning rate, not the folder";
  EXPECT_EQ(comparison.options[1].key, "train.lr");
  EXPECT_THAT(comparison.options[1].values, testing::ElementsAre("0.1", "0.1", "0.1", "0.2", "0.2"));
  ASSERT_EQ(comparison.groups.size(), 2U);
  EXPECT_EQ(comparison.groups[0].name, "a1 (+2)");
  const auto over = comparison.over_seeds(comparison.results[0], comparison.groups[1]);
  EXPECT_EQ(over.mean, 93);
  EXPECT_NEAR(over.deviation, std::sqrt(8.0), 1e-12);
  ASSERT_EQ(comparison.pairs.size(), 1U);
  EXPECT_EQ(comparison.pairs[0].test.pairs, 2) << "seed 9 has no partner";
  EXPECT_EQ(comparison.pairs[0].test.difference, 2);
  EXPECT_THAT(to_csv(comparison), HasSubstr("result,best.epoch,2,2,2,2,2\n"));
  EXPECT_THAT(comparison_page(comparison), HasSubstr("a1 (+2)"));
}

TEST_F(ComparisonTest, MeansAreWrittenAsPeopleReadThem) {
  const std::vector<std::filesystem::path> runs = {made("a1", 0.1, 1, 90), made("a2", 0.1, 2, 92)};
  for (size_t i = 0; i < runs.size(); ++i) {
    const Json result = {{"test_top1", 90 + 2 * i}, {"seed", i + 1}, {"macs", 1000000 * (i + 1)}};
    write_file(runs[i] / "result.json", result.dump());
  }
  const std::string text = to_text(compare_runs(runs));
  const std::string means = text.substr(text.find("over seeds"));
  EXPECT_THAT(means, HasSubstr("91.0000 ± 1.4142"));
  EXPECT_THAT(means, HasSubstr("1500000 ± 707107\n")) << "no decimals of millions";
  EXPECT_THAT(means, testing::Not(HasSubstr("\nseed "))) << "the mean of seeds means nothing";
}

TEST_F(ComparisonTest, RefusesTooFewRunsAndUnknownFigures) {
  const auto a = made("a", 0.1, 1, 90), b = made("b", 0.1, 1, 91);
  EXPECT_THROW(compare_runs({a}), Error);
  EXPECT_THROW(compare_runs({a, folder_ / "c"}), Error);
  EXPECT_THAT([&] { compare_runs({a, b}, "test_top2"); }, testing::ThrowsMessage<Error>(HasSubstr("'test_top1'")));
  EXPECT_TRUE(compare_runs({a, b}).pairs.empty()) << "one seed makes no pair to test";
}

TEST_F(ComparisonTest, ARunIsNamedByAsMuchOfItsPathAsItTakes) {
  const Comparison comparison = compare_runs({made("x/same", 0.1, 1, 90), made("y/same", 0.1, 2, 91)});
  EXPECT_THAT(comparison.names, testing::ElementsAre("x/same", "y/same"));
}

TEST_F(ComparisonTest, RunsAreListedWithTheirStateAndDamagedOnesToo) {
  made("runs/a", 0.1, 1, 90);
  made("runs/b", 0.1, 2, 91);
  write_file(folder_ / "runs/b/run.json", "{torn");
  const auto runs = list_runs(folder_ / "runs");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].state, "done");
  EXPECT_EQ(runs[0].figure->value, 90);
  EXPECT_EQ(runs[1].state, "damaged");
  EXPECT_EQ(list_runs(folder_ / "runs", {.state = "done", .verb = "search", .match = "a"}).size(), 1U);
  EXPECT_TRUE(list_runs(folder_ / "runs", {.state = "", .verb = "train", .match = ""}).empty());
}

TEST_F(ComparisonTest, RemovingARunLeavesWhatIsNotItsOwn) {
  const auto a = made("a", 0.1, 1, 90), b = made("b", 0.1, 1, 90);
  write_file(b / "notes.txt", "mine");
  remove_run(a);
  remove_run(b);
  EXPECT_FALSE(std::filesystem::exists(a));
  EXPECT_EQ(read_file(b / "notes.txt"), "mine");
  EXPECT_THROW(remove_run(b), Error) << "it is no run any more";
}

TEST(AgeText, IsShort) {
  EXPECT_EQ(age_text(5), "5 s");
  EXPECT_EQ(age_text(125), "2 min");
  EXPECT_EQ(age_text(7300), "2 h");
  EXPECT_EQ(age_text(4 * 86400), "4 days");
}

}  // namespace
}  // namespace nascent
