#include <gmock/gmock.h>

#include "cli/program.h"
#include "nascent/core/text.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kNone = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
const std::string kSkip = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|";

// Every architecture of NAS-Bench-201: 3x3 convolutions are worth ten points each.
class TableVerbTest : public ProgramTest {
 protected:
  std::string table() const {
    std::string csv = "index,arch,toy_valid12,toy_test12,toy_train_seconds12,toy_latency_ms_phone\n";
    int64_t number = 15624;
    find_space("nasbench201")->enumerate([&](const Genotype& genotype) {
      const std::string text = to_text(genotype, "nasbench201");
      int convolutions = 0;
      for (size_t at = 0; (at = text.find("nor_conv_3x3", at)) != std::string::npos; ++at) ++convolutions;
      csv += fmt::format("{},{},{},{},120,3.5\n", number--, text, 30 + 10 * convolutions, 35 + 10 * convolutions);
      return true;
    });
    write_file(path("toy.csv"), csv);
    EXPECT_EQ(json_of({"table", "import", path("toy.csv"), "--out", path("toy.table")}).at("architectures"), 15625);
    return path("toy.table");
  }
};

TEST_F(TableVerbTest, ImportShowQueryBest) {
  const std::string file = table();
  const Json shown = json_of({"table", "show", file});
  EXPECT_EQ(shown.at("space"), "nasbench201");
  EXPECT_LT(shown.at("bytes").get<int>(), 10'000'000);
  const Json found = json_of({"table", "query", file, kSkip});
  EXPECT_EQ(found.at("data").at("toy")[0].at("valid"), 30);
  EXPECT_EQ(found.at("data").at("toy")[0].at("regret"), 60);
  EXPECT_EQ(found.at("data").at("toy")[0].at("seconds"), 120);
  EXPECT_EQ(found.at("fixed").at("toy").at("latency_ms_phone"), 3.5);
  EXPECT_EQ(json_of({"table", "query", file, "#15624"}).at("architecture"), "#15624 " + kNone);
  EXPECT_EQ(json_of({"table", "query", file, "nasbench201:0", "--measure", "toy_test12"}).at("value"), 35);
  const Json best = json_of({"table", "best", file, "--count", "2", "--measure", "toy_valid12"});
  EXPECT_EQ(best.at("best").size(), 2u);
  EXPECT_EQ(best.at("best")[0].at("value"), 90);
  EXPECT_EQ(best.at("best")[1].at("rank"), 2);
  const auto printed = nascent({"table", "query", file, kSkip});
  EXPECT_THAT(printed.out, AllOf(HasSubstr(kSkip), HasSubstr("of 15625"), HasSubstr("latency_ms_phone")));
}

TEST_F(TableVerbTest, SearchAndCompare) {
  const std::string file = table();
  const Json found = json_of({"search", "--recipe", "local-search", "--table", file, "--judge-data", "toy", "--budget",
                              "20000", "--seed", "3", "--out", path("found")});
  EXPECT_EQ(found.at("table").at("toy").at("rank"), 1);
  EXPECT_EQ(found.at("table").at("toy").at("regret"), 0);
  EXPECT_LE(found.at("validation_seconds").get<double>(), 20000);
  const auto compare = [&](const std::string& out) {
    return std::vector<std::string>{"search",      "--recipes", "random,rea",  "--table",  file,     "--judge-data",
                                    "toy",         "--seeds",   "5",           "--budget", "12000",  "--plot",
                                    path("c.svg"), "--csv",     path("c.csv"), "--out",    path(out)};
  };
  const Json first = json_of(compare("first")), compared = first.at("comparison");
  EXPECT_EQ(compared.at("random").at("validations"), 100);
  EXPECT_GT(compared.at("rea").at("toy_test12").at("mean"), compared.at("random").at("toy_test12").at("mean"));
  EXPECT_EQ(compared, json_of(compare("second")).at("comparison")) << "the same seeds give the same numbers";
  EXPECT_THAT(read_file(path("c.svg")), AllOf(HasSubstr("<svg"), HasSubstr(">rea</text>"), HasSubstr("</svg>")));
  EXPECT_THAT(read_file(path("c.csv")), HasSubstr("toy,rea,12000,"));
  // Every search is a run of its own, and a comparison that was stopped goes on.
  EXPECT_EQ(Json::parse(read_file(path("first/rea-5/run.json"))).at("status"), "done");
  EXPECT_EQ(first.at("chosen").at("by"), "the highest validation accuracy");
  std::filesystem::remove_all(path("first/rea-5"));
  EXPECT_EQ(json_of({"search", "--resume", path("first")}).at("comparison"), compared);
  const auto printed = nascent({"search", "--resume", path("first")});
  EXPECT_THAT(printed.out, AllOf(HasSubstr("±"), HasSubstr("best of all"), HasSubstr("Chosen: ")));
}

// 'search --seeds 3 --table T' left its columns empty and did not say which cell it kept.
TEST_F(TableVerbTest, SeveralSeedsTellRanksMeansAndTheChoice) {
  const std::vector<std::string> words = {"search",  "--recipe", "rea",      "--table", table(), "--judge-data", "toy",
                                          "--seeds", "3",        "--budget", "2400",    "--out", path("seeds")};
  const auto printed = nascent(words);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("regret"), HasSubstr("mean"), HasSubstr("Chosen: candidate")));
  const Json result = Json::parse(read_file(path("seeds/result.json")));
  double sum = 0;
  for (const auto& search : result.at("stages").at("searches"))
    sum += search.at("table").at("toy").at("regret").get<double>();
  EXPECT_NEAR(result.at("stages").at("table").at("toy").at("regret").at("mean").get<double>(), sum / 3, 1e-9);
  EXPECT_FALSE(result.at("chosen_by").get<std::string>().empty());
}

TEST_F(TableVerbTest, ASearchReportsRankAndRegret) {
  const Json found =
      json_of({"search", "--space", "nasbench201", "--table",   table(), "--data",  "random",   "--size",
               "32",     "--shape", "3,8,8",       "--epochs",  "1",     "--batch", "16",       "--channels",
               "4",      "--cells", "1",           "--threads", "1",     "--out",   path("run")});
  const Json& rank_in = found.at("table").at("toy");
  EXPECT_EQ(rank_in.at("of"), 15625);
  EXPECT_EQ(rank_in.at("test").get<double>() + rank_in.at("regret").get<double>(), 95);
  EXPECT_THAT(read_file(path("run/report.html")), AllOf(HasSubstr("of 15625 on toy"), HasSubstr("Regret")));
}

TEST_F(TableVerbTest, MistakesEndWithTwoAndSayWhatToDo) {
  write_file(path("two.csv"), "index,arch,toy_valid12\n0," + kNone + ",10\n1," + kSkip + ",20\n");
  json_of({"table", "import", path("two.csv"), "--out", path("two.table")});
  const std::string file = path("two.table");
  const auto check = [](const std::vector<std::string>& arguments, const std::string& text) {
    const auto result = nascent(arguments);
    EXPECT_EQ(result.exit_code, 2) << join(arguments, " ");
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(result.out, "");
  };
  EXPECT_THAT(nascent({"table"}).out, AllOf(HasSubstr("import"), HasSubstr("show"), HasSubstr("query")));
  check({"table", "qurey", file, kNone}, "Did you mean 'query'?");
  check({"table", "query", file}, "a table and an architecture");
  check({"table", "import", path("two.csv")}, "--out");
  check({"table", "compare", file, "--strategy", "hnas"},
        "nascent search --recipes hnas,random --seeds 10 --table " + file);
  check({"table", "search", file, "--strategy", "bohb"}, "nascent search --recipe bohb --table " + file);
  check({"search", "--recipes", "rea,rea", "--table", file}, "names one twice");
  check({"search", "--recipes", "rea,retrain-cifar", "--table", file}, "nascent train --recipe retrain-cifar");
  check({"table", "show", path("two.csv")}, "nascent table import");
  check({"table", "query", file, "nasbench201:7"}, "no row for the architecture");
  check({"table", "query", file, kNone, "--measure", "tyo_valid12"}, "Did you mean 'toy'?");
  check({"search", "--recipe", "rea", "--table", file, "--judge-data", "toy"}, "lacks the quantity 'train_seconds'");
  check({"search", "--recipes", "rea,random", "--table", file, "--judge-data", "toy", "--plot", "x.gif"}, ".svg");
  check({"search", "--space", "darts", "--table", file, "--data", "random"}, "is a table of 'nasbench201'");
  std::string bytes = read_file(file);
  write_file(path("cut.table"), bytes.substr(0, bytes.size() / 2));
  check({"table", "show", path("cut.table")}, "is damaged");
}

}  // namespace
}  // namespace nascent
