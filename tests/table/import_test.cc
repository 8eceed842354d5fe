#include "nascent/table/import.h"

#include "nascent/space/nasbench101.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::HasSubstr;

const std::string kNone = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
const std::string kSkip = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|";

class Import : public TableTest {
 protected:
  BenchmarkTable table_of(const TableBuilder& builder) const {
    builder.write(path("imported.table"));
    return BenchmarkTable(path("imported.table"));
  }
  std::string csv_error(const std::string& text) const {
    return error_of([&] { import_table(file("bad.csv", text)); });
  }
};

TEST_F(Import, CsvWithMissingValues) {
  const auto table = table_of(import_table(
      file("a.csv", "index,arch,toy_valid12,toy_test12\n4," + kNone + ",10.25,\n9," + kSkip + ", 20 ,30\n")));
  EXPECT_EQ(table.series(parse_measure("toy_valid12")).at(table.row_of_number(4)), 10.25);
  EXPECT_EQ(table.series(parse_measure("toy_valid12")).at(table.row(nb201(kSkip))), 20);
  EXPECT_EQ(table.series(parse_measure("toy_test12")).count(), 1u);
  EXPECT_EQ(table.source(), "a.csv");
}

// As published for NAS-Bench-201 (Jung et al. 2023): more is better, whatever digits the strength ends in.
TEST_F(Import, AccuraciesUnderAttack) {
  const auto table = table_of(import_table(
      file("a.csv", "arch,cifar10_pgd_linf_0.1,cifar10_square_l2_1.0\n" + kNone + ",10,40\n" + kSkip + ",30,20\n")));
  const auto pgd = table.series(parse_measure("cifar10_pgd_linf_0.1"));
  EXPECT_EQ(pgd.rank(table.row(nb201(kSkip))), 1u);
  EXPECT_EQ(pgd.regret(table.row(nb201(kNone))), 20);
  EXPECT_EQ(table.series(parse_measure("cifar10_square_l2_1.0")).rank(table.row(nb201(kNone))), 1u);
  EXPECT_THAT(csv_error("arch,cifar10_pgd_linf_0.1\n" + kNone + ",101\n"), HasSubstr("per cent"));
}

TEST_F(Import, JsonByRowAndByArchitecture) {
  const auto rows = table_of(
      import_table(file("a.json", R"([{"arch": ")" + kNone + R"(", "toy_valid12": 1.5, "toy_test12": null}])")));
  EXPECT_EQ(rows.series(parse_measure("toy_valid12")).at(rows.row(nb201(kNone))), 1.5);
  const auto named = table_of(import_table(file("b.json", R"({")" + kSkip + R"(": {"index": 3, "toy_valid12": 2}})")));
  EXPECT_EQ(named.series(parse_measure("toy_valid12")).at(named.row_of_number(3)), 2);
}

TEST_F(Import, MistakesAreNamedWithTheirPlace) {
  EXPECT_THAT(csv_error("arch,accuracy\n"), HasSubstr("bad.csv, line 1: 'accuracy' does not name a quantity"));
  EXPECT_THAT(csv_error("index,toy_valid12\n"), HasSubstr("no column 'arch'"));
  EXPECT_THAT(csv_error("arch,toy_valid12,toy_valid12\n"), HasSubstr("appears twice"));
  EXPECT_THAT(csv_error("arch,toy_valid12\n" + kNone + ",x\n"), HasSubstr("line 2: toy_valid12 is 'x'"));
  EXPECT_THAT(csv_error("arch,toy_valid12\n" + kNone + ",120\n"), HasSubstr("line 2: toy_valid12 is 120"));
  EXPECT_THAT(csv_error("arch,toy_valid12\n" + kNone + ",1\n" + kNone + ",1\n"), HasSubstr("line 3: The architecture"));
  EXPECT_THAT(csv_error("arch,toy_valid12\n|nope~0|,1\n"), HasSubstr("line 2: "));
  EXPECT_THAT(csv_error("arch,toy_valid12\n" + kNone + ",1\n|skip"), HasSubstr("line 3: there are 1 fields"));
  EXPECT_THAT(csv_error("arch,toy_valid12\n"), HasSubstr("no architectures"));
  EXPECT_THAT(error_of([&] { import_table(file("bad.json", "[{\"arch\"")); }), HasSubstr("not readable JSON"));
  EXPECT_THAT(error_of([&] { import_table(file("bad.json", "[{\"toy_valid12\": 3}]")); }), HasSubstr("entry 0"));
  EXPECT_THAT(error_of([&] { import_table(file("bad.json", "3")); }), HasSubstr("an array"));
  EXPECT_THAT(error_of([&] { import_table(file("a.txt", "")); }), HasSubstr(".csv or .json"));
  EXPECT_THAT(error_of([&] { import_table(path("missing.xls")); }), HasSubstr("There is no"));
  EXPECT_THAT(error_of([&] { import_table(path("")); }), HasSubstr("no NATS-Bench records"));
}

// The same cell with its two branches swapped is the same architecture.
TEST_F(Import, NasBench101IsLookedUpUpToIsomorphism) {
  const std::string cell =
      R"({"matrix": [[0,1,1,0],[0,0,0,1],[0,0,0,1],[0,0,0,0]], "ops": ["input","conv1x1-bn-relu","maxpool3x3","output"]})";
  const std::string twin =
      R"({"matrix": [[0,1,1,0],[0,0,0,1],[0,0,0,1],[0,0,0,0]], "ops": ["input","maxpool3x3","conv1x1-bn-relu","output"]})";
  const std::string loose = R"({"matrix": [[0,1,1,1,0],[0,0,0,0,1],[0,0,0,0,0],[0,0,0,0,1],[0,0,0,0,0]],)"
                            R"("ops": ["input","maxpool3x3","conv3x3-bn-relu","conv1x1-bn-relu","output"]})";
  const std::string other =
      R"({"matrix": [[0,1,1,0],[0,0,0,1],[0,0,0,1],[0,0,0,0]], "ops": ["input","conv3x3-bn-relu","maxpool3x3","output"]})";
  const auto table =
      table_of(import_table(file("nb101.json", "[{\"arch\": " + cell + R"(, "cifar10_valid108": 91.5}])")));
  EXPECT_EQ(table.space()->name(), "nasbench101");
  const auto valid = table.series(parse_measure("cifar10_valid108"));
  EXPECT_EQ(valid.at(table.row(parse_genotype(twin))), 91.5);
  EXPECT_EQ(valid.at(table.row(parse_genotype(loose))), 91.5);
  EXPECT_THAT(error_of([&] { table.row(parse_genotype(other)); }), HasSubstr("no row for the architecture"));
  EXPECT_EQ(graph_hash(table.genotype(0).cells[0]), graph_hash(parse_genotype(cell).cells[0]));
  const std::string both = "[{\"arch\": " + cell + "}, {\"arch\": " + twin + "}]";
  EXPECT_THAT(error_of([&] { import_table(file("twice.json", both)); }),
              HasSubstr("entry 1: The architecture appears twice"));
}

// A CSV field holds the matrix in quotes.
TEST_F(Import, NasBench101AsCsv) {
  const auto table =
      table_of(import_table(file("nb101.csv",
                                 "arch,cifar10_valid108\n\"{\"\"matrix\"\": [[0,1,0],[0,0,1],[0,0,0]], \"\"ops\"\": "
                                 "[\"\"input\"\",\"\"conv3x3-bn-relu\"\",\"\"output\"\"]}\",93.25\n")));
  EXPECT_EQ(table.series(parse_measure("cifar10_valid108")).at(0), 93.25);
}

TEST_F(Import, RealNasBench201) {
  const std::string csv = real_data() + "/nasbench201.csv";
  if (real_data().empty() || !std::filesystem::exists(csv)) GTEST_SKIP() << "NASCENT_DATA has no nasbench201.csv";
  const auto table = table_of(import_table(csv));
  EXPECT_TRUE(table.complete());
  EXPECT_LT(table.bytes(), 10'000'000u);
  // The best test accuracies of the benchmark.
  const auto best = [&](const std::string& name) {
    const auto series = table.series(parse_measure(name));
    return series.at(series.best());
  };
  EXPECT_NEAR(best("cifar10_test200"), 94.37, 0.005);
  EXPECT_NEAR(best("cifar100_test200"), 73.51, 0.005);
  EXPECT_NEAR(best("imagenet16_test200"), 47.31, 0.005);
  EXPECT_EQ(table.genotype(table.row_of_number(11)),
            nb201("|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|none~0|nor_conv_3x3~1|avg_pool_3x3~2|"));
}

TEST_F(Import, RealNatsRecordsAgreeWithTheCsv) {
  const std::string csv = real_data() + "/nasbench201.csv", folder = real_data() + "/NATS-tss-v1_0-3ffb9-simple";
  if (real_data().empty() || !std::filesystem::exists(csv) || !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "NASCENT_DATA has no nasbench201.csv or no NATS records";
  }
  import_table(csv).write(path("csv.table"));
  const BenchmarkTable from_csv(path("csv.table"));
  const BenchmarkTable nats = table_of(import_table(folder));
  int compared = 0;
  for (const int64_t number : {0, 11, 284}) {
    const size_t a = from_csv.row_of_number(number), b = nats.row_of_number(number);
    EXPECT_EQ(from_csv.genotype(a), nats.genotype(b));
    for (const Measure& column : from_csv.columns()) {
      if (!nats.has(column)) continue;  // latencies of other devices
      EXPECT_NEAR(from_csv.series(column).at(a), nats.series(column).at(b), 1e-3) << column.name() << " of " << number;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 3 * 15);
  // One seed's figure, as the record has it.
  EXPECT_NEAR(nats.series(parse_measure("cifar10_test200_seed777")).at(nats.row_of_number(11)), 91.79, 1e-5);
  EXPECT_NEAR(nats.series(parse_measure("cifar10_valid1of12_seed777")).at(nats.row_of_number(11)), 27.508, 1e-5);
  EXPECT_NEAR(nats.series(parse_measure("cifar10_params_m")).at(nats.row_of_number(11)), 0.8024, 1e-3);
}

}  // namespace
}  // namespace nascent
