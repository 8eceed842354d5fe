// Tables of spaces that are too large to be numbered.
#include <cmath>
#include <map>

#include "nascent/core/checked_lines.h"
#include "nascent/table/import.h"
#include "nascent/table/table_rank.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// As published: the first has `none`, both take inputs twice.
const std::string kWithNone =
    "Genotype(normal=[('none', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 2), ('sep_conv_5x5', 3), "
    "('sep_conv_5x5', 3), ('skip_connect', 0), ('none', 4)], normal_concat=range(2, 6), reduce=[('max_pool_3x3', 0), "
    "('max_pool_3x3', 1), ('max_pool_3x3', 0), ('dil_conv_3x3', 2), ('skip_connect', 2), ('skip_connect', 3), "
    "('skip_connect', 2), ('skip_connect', 3)], reduce_concat=range(2, 6))";

class HashedTableTest : public TableTest {
 protected:
  // `count` architectures of DARTS; the accuracy grows with the number of the row.
  std::string sampled(int count) const {
    TableBuilder builder(find_space("darts"), "made up");
    RandomStream random(1, "hashed");
    for (int i = 0; i < count; ++i) {
      const size_t row = builder.add(builder.space().sample(random), i % 3 == 0 ? -1 : i);
      builder.set(row, parse_measure("toy_valid12"), 50 + i / 100.0);
    }
    builder.write(path("darts.table"));
    return path("darts.table");
  }
};

TEST_F(HashedTableTest, EveryRowIsFoundAndNothingElse) {
  const BenchmarkTable table(sampled(3000));
  EXPECT_EQ(table.rows(), 3000u);
  EXPECT_FALSE(table.complete());
  const TableSeries valid = table.series(parse_measure("toy_valid12"));
  RandomStream random(1, "hashed"), others(2, "hashed");
  for (int i = 0; i < 3000; ++i) {
    Genotype genotype = table.space()->sample(random);
    const size_t row = table.row(genotype);
    EXPECT_EQ(valid.at(row), static_cast<float>(50 + i / 100.0));
    EXPECT_EQ(table.number(row), i % 3 == 0 ? -1 : i);
    EXPECT_EQ(canonical(table.genotype(row)), canonical(genotype));
    std::swap(genotype.cells[0].nodes[3].edges[0], genotype.cells[0].nodes[3].edges[1]);
    EXPECT_EQ(table.row(genotype), row);
    EXPECT_FALSE(table.find(table.space()->mutate(genotype, others)).has_value());
  }
  EXPECT_EQ(table.genotype(valid.best()), canonical(table.genotype(valid.best())));
  EXPECT_EQ(valid.rank(valid.best()), 1u);
  EXPECT_EQ(table.row_of_number(2998), find_row(table, "#2998"));
}

TEST_F(HashedTableTest, PublishedCellsWithNoneAndRepeatedInputsHaveRows) {
  const std::string csv =
      file("cells.csv", "arch,cifar10_test600\n\"" + kWithNone + "\",97.2\ndarts-v2 is not read here,\n");
  EXPECT_THAT(error_of([&] { import_table(csv, "darts"); }), HasSubstr("line 3"));
  const std::string good = file("good.csv", "arch,cifar10_test600\n\"" + kWithNone + "\",97.2\n\"" +
                                                to_text(find_genotype("darts-v2"), "darts") + "\",97.24\n");
  import_table(good, "darts").write(path("good.table"));
  const BenchmarkTable table(path("good.table"));
  const TableSeries test = table.series(parse_measure("cifar10_test600"));
  EXPECT_FLOAT_EQ(test.at(find_row(table, kWithNone)), 97.2);
  EXPECT_FLOAT_EQ(test.at(find_row(table, "darts-v2")), 97.24);
  EXPECT_THAT(table.describe(find_row(table, kWithNone)), HasSubstr("('none', 0)"));
  // The same cell as one of PR-DARTS's space, or of any wiring.
  Genotype cell = find_genotype("darts-v2");
  for (const std::string space : {"darts-pr", "darts-nasi", "cells"}) {
    cell.space = space;
    EXPECT_EQ(table.row(cell), find_row(table, "darts-v2"));
    EXPECT_NO_THROW(table.require_space(*find_space(space)));
  }
  EXPECT_THAT(error_of([&] { table.row(find_genotype("enas")); }), HasSubstr("is a table of 'darts'"));
  EXPECT_THAT(error_of([&] { table.require_space(*find_space("nasbench201")); }), HasSubstr("is a table of 'darts'"));
  EXPECT_THAT(error_of([&] { find_row(table, "darts-v1"); }), HasSubstr("no row for the architecture"));
}

TEST_F(HashedTableTest, ImpossibleRowsAreRefused) {
  TableBuilder builder(find_space("darts"), "by hand");
  Genotype genotype = find_genotype("darts-v2");
  builder.add(genotype, -1);
  std::swap(genotype.cells[0].nodes[0].edges[0], genotype.cells[0].nodes[0].edges[1]);
  EXPECT_THAT(error_of([&] { builder.add(genotype, -1); }), HasSubstr("twice"));
  EXPECT_THAT(error_of([&] { builder.add(find_genotype("nasbench201:3"), -1); }), HasSubstr("type(s) of cell"));
  genotype.cells[0].nodes[0].edges[0].from = 3;
  EXPECT_THAT(error_of([&] { builder.add(genotype, -1); }), HasSubstr("takes state 3"));
}

TEST_F(HashedTableTest, EveryTruncationAndEveryFlippedBitIsAnError) {
  const std::string bytes = read_file(sampled(3));
  EXPECT_EQ(bytes[8], 2) << "earlier versions must not take it for a complete table";
  for (size_t size = 0; size < bytes.size(); size += 5) {
    error_of([&] { BenchmarkTable(file("cut.table", bytes.substr(0, size))); });
  }
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    error_of([&] { BenchmarkTable(file("bad.table", changed)); });
  }
}

// Files that are there must stay readable, and the same rows give the same bytes: their hashes as the first versions
// wrote them.
TEST_F(HashedTableTest, FilesKeepTheirBytes) {
  const std::string none = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
  const std::string rest = "|+|none~0|none~1|+|none~0|none~1|none~2|";
  const std::string some = file("g.csv",
                                "index,arch,toy_valid12,toy_test200_seed1,toy_test200_seed2,toy_train_seconds200,"
                                "toy_params_m\n7,|nor_conv_3x3~0" +
                                    rest + ",80,70,71,200,1.5\n3," + none + ",10,12,,50,0.25\n5,|skip_connect~0" +
                                    rest + ",80,60,63,100,\n");
  const std::string some_bytes = import_table(some).bytes();
  EXPECT_EQ(some_bytes.size(), 772u);
  EXPECT_EQ(hash128(some_bytes), (Hash128{0xa57d904f0d95f045, 0xb056451eba286b4b}));
  const std::vector<std::string> ops = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"};
  std::string all = "arch,toy_valid12\n";
  for (int i = 0; i < 15625; ++i) {
    std::vector<std::string> chosen;
    for (int rest_of = i, digit = 0; digit < 6; ++digit, rest_of /= 5) chosen.insert(chosen.begin(), ops[rest_of % 5]);
    all += fmt::format("|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|,{}\n", chosen[0], chosen[1], chosen[2], chosen[3],
                       chosen[4], chosen[5], i % 97);
  }
  const std::string all_bytes = import_table(file("full.csv", all)).bytes();
  EXPECT_EQ(all_bytes.size(), 62724u);
  EXPECT_EQ(hash128(all_bytes), (Hash128{0x52e0e42b781bc08c, 0xa5bd0e7fab259c77}));
}

class ValidationsTest : public TableTest {
 protected:
  static constexpr const char* kHeader =
      R"(nascent-scores 1 {"data":{"name":"fashion","batch":64},"network":{},"train":{"rate":0.1},"seed":3})";
  std::string scores(const std::vector<std::string>& bodies) const {
    std::string text = checked_line(kHeader);
    for (const std::string& body : bodies) text += checked_line(body);
    return file("darts-12345678.scores", text);
  }
};

TEST_F(ValidationsTest, WhatWasValidatedByTrainingBecomesATable) {
  const std::string first = Json::parse(to_text(find_genotype("darts-v1"), "json")).dump();
  const std::string second = Json::parse(to_text(find_genotype("darts-v2"), "json")).dump();
  import_table(scores({first + "\tseconds2=7.5\tvalid2=61.25", second + "\tseconds2=9\tvalid2=50",
                       first + "\tseconds2=7.5\tseconds6=20\tvalid2=61.25\tvalid6=70"}))
      .write(path("v.table"));
  const BenchmarkTable table(path("v.table"));
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.source(), "darts-12345678.scores");
  const size_t row = find_row(table, "darts-v1");
  EXPECT_EQ(table.series(parse_measure("fashion_valid2")).at(row), 61.25);
  EXPECT_EQ(table.series(parse_measure("fashion_valid6_seed3")).at(row), 70);
  EXPECT_EQ(TableCost(table, "fashion", Budget(6)).at(row), 20);
  EXPECT_EQ(TableCost(table, "fashion", Budget(2)).at(row), 7.5);
  EXPECT_TRUE(std::isnan(table.series(parse_measure("fashion_valid6")).value(find_row(table, "darts-v2"))));
}

TEST_F(ValidationsTest, OtherFilesOfScoresAreRefused) {
  const std::string free = checked_line(R"(nascent-scores 1 {"definitions":1,"space":"darts"})");
  EXPECT_THAT(error_of([&] { import_table(file("a.scores", free)); }), HasSubstr("training-free scores"));
  EXPECT_THAT(error_of([&] { import_table(file("b.scores", "arch,x\n")); }), HasSubstr("does not begin"));
  EXPECT_THAT(error_of([&] { import_table(file("c.scores", "")); }), HasSubstr("does not begin"));
  EXPECT_THAT(error_of([&] { import_table(scores({})); }), HasSubstr("no architectures"));
  EXPECT_THAT(error_of([&] { import_table(scores({"|none~0|\ttrace=1"})); }), HasSubstr("not the outcome"));
  std::string damaged = read_file(scores({"|none~0|\tvalid1=1"}));
  damaged[damaged.size() - 2] = '2';
  EXPECT_THAT(error_of([&] { import_table(file("d.scores", damaged)); }), HasSubstr("line 2 is damaged"));
}

}  // namespace
}  // namespace nascent
