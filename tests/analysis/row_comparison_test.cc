#include "nascent/analysis/row_comparison.h"

#include <gmock/gmock.h>

#include <cmath>

#include "errors.h"
#include "nascent/core/files.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::HasSubstr;

ExperimentRow row_of(const std::string& name, const std::vector<double>& values) {
  ExperimentRow row{.name = name};
  for (size_t i = 0; i < values.size(); ++i) row.runs.emplace_back(std::to_string(i + 1), values[i]);
  return row;
}

const std::vector<double> kReference = {1, 5, 2, 8, 4, 9, 3, 7, 6, 10};

std::vector<double> shifted(double by) {
  std::vector<double> values = kReference;
  for (size_t i = 0; i < values.size(); ++i) values[i] += by + (i % 2 ? 0.01 : -0.01);
  return values;
}

// Seeds that differ much from one another and little from row to row: only the pairs show it.
TEST(RowComparison, PairsWhereSeedsAreTheSame) {
  ExperimentRow other = row_of("other", shifted(0.5));
  const RowComparison paired = compare_rows({row_of("base", kReference), other}, "base");
  ASSERT_TRUE(paired.rows[1].against);
  EXPECT_FALSE(paired.rows[0].against);
  EXPECT_TRUE(paired.rows[1].against->paired);
  EXPECT_DOUBLE_EQ(paired.rows[1].against->p, 2.0 / 1024);
  EXPECT_NEAR(paired.rows[1].against->difference.middle, 0.5, 1e-12);
  EXPECT_GT(paired.rows[1].against->difference.low, 0.48);
  EXPECT_LT(paired.rows[1].against->detectable, 0.02);
  for (auto& [seed, value] : other.runs) seed += "0";
  const RowComparison unpaired = compare_rows({row_of("base", kReference), other}, "base");
  EXPECT_FALSE(unpaired.rows[1].against->paired);
  EXPECT_GT(unpaired.rows[1].against->p, 0.5);
  EXPECT_GT(unpaired.rows[1].against->detectable, 3);
}

TEST(RowComparison, CorrectsForTheNumberOfRows) {
  const std::vector<ExperimentRow> rows = {row_of("base", kReference), row_of("a", shifted(0.5)),
                                           row_of("b", shifted(0.6)), row_of("published", {11})};
  const RowComparison found = compare_rows(rows, "base");
  EXPECT_DOUBLE_EQ(found.rows[1].against->p_holm, 4.0 / 1024);
  EXPECT_DOUBLE_EQ(found.rows[2].against->p_holm, 4.0 / 1024);
  EXPECT_FALSE(found.rows[3].against);  // one number has no deviation
  EXPECT_TRUE(std::isnan(found.rows[3].mean.low));
  EXPECT_GT(found.rows[1].against->detectable, compare_rows({rows[0], rows[1]}, "base").rows[1].against->detectable);
}

// Of 1024 ways to choose the signs of ten differences, two are one in 512: with twenty rows only differences of one
// sign are significant, and the power of Student's test was that of another test.
TEST(RowComparison, WhatCouldHaveBeenSeenIsOfTheTestThatIsUsed) {
  std::vector<ExperimentRow> rows = {row_of("base", kReference)};
  for (int i = 0; i < 20; ++i) rows.push_back(row_of(std::to_string(i), shifted(0.5)));
  const RowDifference found = *compare_rows(rows, "base").rows[1].against;
  EXPECT_GT(found.detectable, 1.9 * 0.01054);  // deviations; Student's test would see 1.64
  EXPECT_LT(found.detectable, 2.2 * 0.01054);
}

// Of three pairs the smallest p is 0.25: whatever the difference, it would not have been seen.
TEST(RowComparison, SaysWhereThereAreTooFewRunsToSeeAnything) {
  const RowComparison found = compare_rows({row_of("base", {1, 2, 3}), row_of("a", {101, 102.1, 103})}, "base");
  EXPECT_EQ(found.rows[1].against->detectable, INFINITY);
  EXPECT_TRUE(found.to_json()["rows"][1]["detectable"].is_null());
}

TEST(RowComparison, ChecksFurtherRuns) {
  const std::vector<ExperimentRow> rows = {row_of("a", {1, 2, 3, 4, 5}), row_of("b", {7, 7, 7})};
  ExperimentRow more{.name = "a", .runs = {{"1", 1}, {"6", 5.5}, {"7", 9}}};
  const std::vector<CheckedRun> checked = check_runs(rows, {more, {.name = "b", .runs = {{"4", 7}, {"5", 7.1}}}});
  ASSERT_EQ(checked.size(), 5u);
  EXPECT_TRUE(checked[0].same());
  EXPECT_FALSE(checked[1].same());
  EXPECT_TRUE(checked[1].inside());
  EXPECT_FALSE(checked[2].inside());  // 3 + 2.776 sqrt(3) = 7.8
  EXPECT_TRUE(checked[3].inside());
  EXPECT_FALSE(checked[4].inside());
  EXPECT_THAT(error_of([&] {
                check_runs(rows, {{.name = "bb", .runs = {{"1", 1}}}});
              }),
              HasSubstr("Did you mean 'b'?"));
}

// It was to be expected from nan to nan, and lay outside.
TEST(RowComparison, OneRunGivesNothingToExpect) {
  const ExperimentRow more{.name = "a", .runs = {{"1", 5}, {"2", 6}}};
  const std::vector<CheckedRun> checked = check_runs({row_of("a", {5})}, {more});
  EXPECT_TRUE(checked[0].judged());
  EXPECT_TRUE(checked[0].same());
  EXPECT_FALSE(checked[1].judged());
  EXPECT_TRUE(checked[1].to_json()["inside"].is_null());
}

TEST(RowComparison, ReadsAndWritesFiles) {
  TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  write_file(path("runs.csv"), "row,seed,valid,test\n\"a, b\",1,90,91\nc,1,80,81\n\"a, b\",2,92,93\nc,2,82,85\n");
  RowComparisonOptions options{
      .file = path("runs.csv"), .reference = "c", .value = "test", .csv = path("out.csv"), .plot = path("out.svg")};
  const RowComparison found = compare_rows(options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].mean.middle, 92);
  EXPECT_EQ(found.rows[1].mean.middle, 83);
  EXPECT_THAT(read_file(path("out.csv")), HasSubstr("\n\"a, b\",2,92.0,91.0,93.0,"));
  EXPECT_THAT(read_file(path("out.csv")), HasSubstr("\nc,2,83.0,81.0,85.0,2.8284271247461903,,,,,,,\n"));
  EXPECT_THAT(read_file(path("out.svg")), HasSubstr(">a, b</text>"));
  options.value = "tset";
  EXPECT_THAT(error_of([&] { compare_rows(options); }), HasSubstr("Did you mean 'test'?"));
  write_file(path("runs.csv"), "row,seed,value\na,1,x\n");
  options.value = "value";
  EXPECT_THAT(error_of([&] { compare_rows(options); }), HasSubstr("line 2: 'x' is not a number"));
}

}  // namespace
}  // namespace nascent
