#include "nascent/table/benchmark_table.h"

#include <cmath>

#include "nascent/table/table_rank.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kNone = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
const std::string kSkip = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|";
const std::string kConv = "|nor_conv_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|";

class BenchmarkTableTest : public TableTest {
 protected:
  // Three of the 15 625, added in an order that is not the space's.
  std::string three() const {
    TableBuilder builder(find_space("nasbench201"), "by hand");
    add(builder, kConv, 7, 80, 70, 200);
    add(builder, kNone, 3, 10, 12, 50);
    const size_t row = add(builder, kSkip, 5, 80, 60, 100);
    builder.set(row, parse_measure("toy_test200_seed1"), 61);
    builder.set(row, parse_measure("toy_test200_seed2"), 63);
    builder.set(0, parse_measure("toy_test200_seed2"), 71);
    builder.write(path("three.table"));
    return path("three.table");
  }

 private:
  static size_t add(TableBuilder& builder, const std::string& text, int64_t number, double valid, double test,
                    double seconds) {
    const size_t row = builder.add(nb201(text), number);
    builder.set(row, parse_measure("toy_valid12"), valid);
    builder.set(row, parse_measure("toy_test12"), test);
    builder.set(row, parse_measure("toy_train_seconds200"), seconds);
    return row;
  }
};

TEST_F(BenchmarkTableTest, RowsAreFoundByArchitectureAndByNumber) {
  const BenchmarkTable table(three());
  EXPECT_EQ(table.rows(), 3u);
  EXPECT_FALSE(table.complete());
  const auto valid = table.series(parse_measure("toy_valid12"));
  const auto test = table.series(parse_measure("toy_test12"));
  EXPECT_EQ(valid.at(table.row(nb201(kNone))), 10);
  EXPECT_EQ(test.at(table.row(nb201(kSkip))), 60);
  EXPECT_EQ(table.row_of_number(7), table.row(nb201(kConv)));
  EXPECT_EQ(table.number(table.row(nb201(kSkip))), 5);
  for (size_t row = 0; row < 3; ++row) EXPECT_EQ(table.row(table.genotype(row)), row);
  EXPECT_THAT(table.describe(table.row_of_number(3)), HasSubstr("#3 |none~0|"));
}

TEST_F(BenchmarkTableTest, BestRankAndRegret) {
  const BenchmarkTable table(three());
  const auto test = table.series(parse_measure("toy_test12"));
  const auto row = [&](int64_t number) { return table.row_of_number(number); };
  EXPECT_EQ(test.best(), row(7));
  EXPECT_THAT(test.best(2), ElementsAre(row(7), row(5)));
  EXPECT_EQ(test.rank(row(7)), 1u);
  EXPECT_EQ(test.rank(row(3)), 3u);
  EXPECT_EQ(test.regret(row(7)), 0);
  EXPECT_EQ(test.regret(row(5)), 10);
  // Equal values share the better rank.
  const auto valid = table.series(parse_measure("toy_valid12"));
  EXPECT_EQ(valid.rank(row(7)), 1u);
  EXPECT_EQ(valid.rank(row(5)), 1u);
  EXPECT_EQ(valid.rank(row(3)), 3u);
  // Less time is better.
  const auto seconds = table.series(parse_measure("toy_train_seconds200"));
  EXPECT_EQ(seconds.best(), row(3));
  EXPECT_EQ(seconds.regret(row(7)), 150);
}

TEST_F(BenchmarkTableTest, AMeanIsThatOfTheSeedsThereAre) {
  const BenchmarkTable table(three());
  const auto mean = table.series(parse_measure("toy_test200"));
  EXPECT_EQ(mean.at(table.row_of_number(5)), 62);
  EXPECT_EQ(mean.at(table.row_of_number(7)), 71);
  EXPECT_TRUE(std::isnan(mean.value(table.row_of_number(3))));
  EXPECT_EQ(mean.count(), 2u);
  EXPECT_EQ(mean.best(3).size(), 2u) << "rows without a value are left out";
  EXPECT_THAT(error_of([&] { mean.at(table.row_of_number(3)); }), HasSubstr("no toy_test200"));
  EXPECT_EQ(table.series(parse_measure("toy_test200_seed1")).at(table.row_of_number(5)), 61);
}

TEST_F(BenchmarkTableTest, CostIsScaledFromTheScheduleThatIsKnown) {
  const BenchmarkTable table(three());
  EXPECT_DOUBLE_EQ(TableCost(table, "toy", Budget(200)).at(table.row_of_number(7)), 200);
  EXPECT_DOUBLE_EQ(TableCost(table, "toy", Budget(12)).at(table.row_of_number(7)), 12);
  EXPECT_DOUBLE_EQ(TableCost(table, "toy", Budget(4, 12)).at(table.row_of_number(7)), 4);
}

TEST_F(BenchmarkTableTest, StandingsGatherWhatIsKnown) {
  const BenchmarkTable table(three());
  const auto all = table_ranks(table, table.row_of_number(5));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].budget, Budget(12));
  EXPECT_EQ(*all[0].test, 60);
  EXPECT_EQ(all[0].rank, 2u);
  EXPECT_EQ(all[0].of, 3u);
  EXPECT_EQ(*all[0].regret, 10);
  EXPECT_EQ(*all[0].seconds, 6);
  EXPECT_EQ(all[1].budget, Budget(200));
  EXPECT_FALSE(all[1].valid.has_value());
  EXPECT_EQ(all[1].of, 2u);
  EXPECT_EQ(final_table_ranks(table, table.row_of_number(5)).at("toy").at("test"), 62);
}

TEST_F(BenchmarkTableTest, WhatIsMissingIsNamed) {
  const BenchmarkTable table(three());
  const auto refused = [&](const std::string& name) { return error_of([&] { table.series(parse_measure(name)); }); };
  EXPECT_THAT(refused("tov_valid12"), HasSubstr("lacks the data set 'tov'. Did you mean 'toy'? It has: toy."));
  EXPECT_THAT(refused("toy_valdi12"), HasSubstr("lacks the quantity 'valdi'. Did you mean 'valid'?"));
  EXPECT_THAT(refused("toy_valid13"), HasSubstr("lacks the number of epochs '13'."));
  EXPECT_THAT(refused("toy_test200_seed9"), HasSubstr("lacks the seed '9'. It has: 1, 2."));
  const std::string missing = "|none~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|";
  EXPECT_THAT(error_of([&] { table.row(nb201(missing)); }), HasSubstr("no row for the architecture " + missing));
  EXPECT_FALSE(table.find(nb201(missing)).has_value());
  EXPECT_THAT(error_of([&] { table.row(find_genotype("darts-v2")); }), HasSubstr("is a table of 'nasbench201'"));
  EXPECT_THAT(error_of([&] { table.row_of_number(4); }), HasSubstr("number 4"));
}

TEST_F(BenchmarkTableTest, ImpossibleRowsAreRefused) {
  TableBuilder builder(find_space("nasbench201"), "by hand");
  const size_t row = builder.add(nb201(kNone), -1);
  EXPECT_THAT(error_of([&] { builder.add(nb201(kNone), -1); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { builder.set(row, parse_measure("toy_valid12"), 100.5); }), HasSubstr("0 to 100"));
  EXPECT_THAT(error_of([&] { builder.set(row, parse_measure("toy_params_m"), NAN); }), HasSubstr("finite"));
  EXPECT_THAT(error_of([&] { builder.bytes(); }), HasSubstr("nothing in it"));
}

TEST_F(BenchmarkTableTest, EveryTruncationAndEveryFlippedBitIsAnError) {
  const std::string bytes = read_file(three());
  for (size_t size = 0; size < bytes.size(); size += 5) {
    error_of([&] { BenchmarkTable(file("cut.table", bytes.substr(0, size))); });
  }
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    // Four bytes of the header are reserved; the checksum covers them too.
    error_of([&] { BenchmarkTable(file("bad.table", changed)); });
  }
  EXPECT_THAT(error_of([&] { BenchmarkTable(file("cut.table", bytes.substr(0, bytes.size() - 1))); }),
              HasSubstr("is damaged: it has"));
  EXPECT_THAT(error_of([&] { BenchmarkTable(file("text.table", "index,arch\n")); }), HasSubstr("nascent table import"));
  EXPECT_THAT(error_of([&] { BenchmarkTable(path("missing.table")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { BenchmarkTable(path("")); }), HasSubstr("not a file"));
}

TEST_F(BenchmarkTableTest, ACompleteTableNeedsNoKeys) {
  const BenchmarkTable table = made_up(
      [](const Genotype& genotype) { return genotype.cells[0].nodes[0].edges[0].op == "nor_conv_3x3" ? 90.0 : 50.0; });
  EXPECT_TRUE(table.complete());
  const auto valid = table.series(parse_measure("toy_valid12"));
  EXPECT_EQ(valid.at(table.row(nb201(kConv))), 90);
  EXPECT_EQ(valid.at(table.row(nb201(kSkip))), 50);
  EXPECT_EQ(valid.rank(table.row(nb201(kSkip))), 3126u);
  EXPECT_EQ(table.number(0), -1);
  EXPECT_THAT(error_of([&] { table.row_of_number(0); }), HasSubstr("does not know"));
}

}  // namespace
}  // namespace nascent
