#include "nascent/ensemble/figures.h"

#include <gmock/gmock.h>

#include <cmath>

#include "ensemble/tables.h"
#include "nascent/core/error.h"
#include "nascent/ensemble/member_curve.h"
#include "nascent/ensemble/temperature.h"
#include "nascent/ensemble/tsne.h"

namespace nascent {
namespace {

using namespace testing_ensemble;

// 0112, 0102, 0212: pairs differ on one, one and two of four images.
TEST(Figures, DisagreementOfThreeIsAThird) {
  const Labels labels = {0, 1, 1, 2};
  const EnsembleFigures figures =
      ensemble_figures({calling("0112", 3), calling("0102", 3), calling("0212", 3)}, labels);
  EXPECT_NEAR(figures.disagreement, 100.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(figures.disagreements[0][1], 25);
  EXPECT_DOUBLE_EQ(figures.disagreements[1][2], 50);
  EXPECT_THAT(figures.member_errors, testing::ElementsAre(0, 25, 25));
  EXPECT_NEAR(figures.average_error, 50.0 / 3, 1e-9);
  EXPECT_NEAR(figures.diversity(), 2, 1e-9);
  EXPECT_DOUBLE_EQ(figures.error, 0);
  EXPECT_DOUBLE_EQ(figures.oracle_error, 0);
}

TEST(Figures, CopiesOfAModelAreTheModel) {
  const Labels labels = cyclic_labels(50, 7);
  const Probabilities model = random_table(50, 7, labels, 1);
  const EnsembleFigures one = ensemble_figures({model}, labels);
  for (const auto how : {Combination::probabilities, Combination::logits}) {
    const EnsembleFigures many = ensemble_figures({model, model, model}, labels, how);
    EXPECT_DOUBLE_EQ(many.error, one.error);
    EXPECT_NEAR(many.loss, one.loss, 1e-6);
    EXPECT_NEAR(many.brier, one.brier, 1e-6);
    EXPECT_NEAR(many.calibration_error, one.calibration_error, 1e-6);
    EXPECT_DOUBLE_EQ(many.disagreement, 0);
    EXPECT_NEAR(many.mutual_information, 0, 1e-6);
    EXPECT_DOUBLE_EQ(many.oracle_error, one.error);
  }
}

// By Jensen's inequality; and the entropy of a mean is at least the mean of entropies.
TEST(Figures, AnEnsembleIsNoWorseThanItsMembersOnAverage) {
  const Labels labels = cyclic_labels(200, 5);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Members members;
    for (uint64_t m = 0; m < 4; ++m) members.push_back(random_table(200, 5, labels, 100 * seed + m, 0.5, 2));
    const EnsembleFigures figures = ensemble_figures(members, labels);
    EXPECT_LE(figures.loss, figures.average_loss);
    EXPECT_GT(figures.mutual_information, 0);
    EXPECT_LE(figures.oracle_error, figures.average_error);
  }
}

// Ten images at 0.95 of which 8 are right, ten at 0.55 of which 5 are: half of 0.15 and half of 0.05.
TEST(Figures, CalibrationErrorByHand) {
  std::vector<std::vector<float>> rows;
  Labels labels;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(i < 10 ? std::vector<float>{0.95f, 0.05f} : std::vector<float>{0.55f, 0.45f});
    labels.push_back(i < 8 || (i >= 10 && i < 15) ? 0 : 1);
  }
  const auto bins = reliability(table(rows), labels);
  ASSERT_EQ(bins.size(), 15u);
  EXPECT_NEAR(calibration_error(bins), 0.10, 1e-6);
  EXPECT_EQ(bins[14].images, 10);
  EXPECT_NEAR(bins[14].accuracy, 0.8, 1e-12);
  EXPECT_EQ(bins[8].images, 10);  // 0.55 lies in (8/15, 9/15]
}

TEST(Figures, BrierTopFiveAndLossByHand) {
  const Labels labels = {0, 6};
  const Probabilities two =
      table({std::vector<float>(8, 0.125f), {0.3f, 0.2f, 0.15f, 0.1f, 0.08f, 0.07f, 0.06f, 0.04f}});
  const EnsembleFigures figures = ensemble_figures({two}, labels);
  EXPECT_DOUBLE_EQ(figures.top5_error, 50);  // none is above a tie; six are above the second label
  const double second = 0.09 + 0.04 + 0.0225 + 0.01 + 0.0064 + 0.0049 + 0.94 * 0.94 + 0.0016;
  EXPECT_NEAR(figures.brier, (7 * 0.125 * 0.125 + 0.875 * 0.875 + second) / 2, 1e-6);
  EXPECT_NEAR(figures.loss, -(std::log(0.125) + std::log(0.06)) / 2, 1e-6);
}

TEST(Figures, RefuseMembersThatDoNotBelongTogether) {
  const Labels labels = {0, 1};
  EXPECT_THAT(
      [&] {
        ensemble_figures({calling("01", 3), calling("01", 4)}, labels);
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("4 classes")));
  EXPECT_THROW(ensemble_figures({calling("011", 3)}, labels), Error);
  EXPECT_THROW(ensemble_figures({}, labels), Error);
}

TEST(Figures, WeightsDecideBetweenMembers) {
  const Members members = {table({{0.9f, 0.1f}}), table({{0.1f, 0.9f}})};
  const std::vector<double> weights = {3, 1};
  EXPECT_NEAR(combine(members, Combination::probabilities, weights).values[0], 0.7, 1e-6);
  // Three quarters of log 9 less one quarter of it: odds of 3.
  EXPECT_NEAR(combine(members, Combination::logits, weights).values[0], 0.75, 1e-6);
}

TEST(Figures, StandardErrorOverTrials) {
  const std::vector<double> trials = {1, 2, 3, 4};
  const auto [mean, error] = mean_and_error(trials);
  EXPECT_DOUBLE_EQ(mean, 2.5);
  EXPECT_NEAR(error, std::sqrt(5.0 / 3 / 4), 1e-12);
  const std::vector<Json> figures = {{{"error", 1.0}, {"bins", {1, 2}}}, {{"error", 3.0}, {"bins", {2, 2}}}};
  const Json both = mean_and_error(figures);
  EXPECT_DOUBLE_EQ(both.at("error").at("mean").get<double>(), 2);
  EXPECT_DOUBLE_EQ(both.at("error").at("standard_error").get<double>(), 1);
  EXPECT_FALSE(both.contains("bins"));
}

// Labels drawn from the probabilities themselves fit at temperature 1, so logits times 3 need 3.
TEST(Temperature, FindsTheFactorOfTheLogits) {
  const int64_t images = 20000;
  const Probabilities honest = random_table(images, 5, cyclic_labels(images, 5), 3, 0, 1.5);
  Labels labels;
  for (int64_t i = 0; i < images; ++i) {
    double u = RandomStream(9, "label", {static_cast<uint64_t>(i)}).uniform();
    size_t label = 0;
    while (label < 4 && (u -= honest.row(i)[label]) > 0) ++label;
    labels.push_back(static_cast<int64_t>(label));
  }
  const double fitting = fitted_temperature(honest, labels);
  EXPECT_NEAR(fitting, 1, 0.03);
  EXPECT_NEAR(fitted_temperature(with_temperature(honest, 1.0 / 3), labels), 3 * fitting, 0.01 * 3);
  EXPECT_EQ(called(with_temperature(honest, 3)), called(honest));
}

// Each of three members errs on an image of its own.
TEST(MemberCurve, TakesAllSubsetsOrRandomOnes) {
  const Labels labels = {0, 0, 0, 0};
  const Members members = {calling("1000", 2), calling("0100", 2), calling("0010", 2)};
  const auto curve = member_curve(members, labels, Combination::probabilities, 1);
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_EQ(curve[1].subsets, 3);
  EXPECT_DOUBLE_EQ(curve[0].error.mean, 25);
  EXPECT_DOUBLE_EQ(curve[2].error.mean, 0);
  EXPECT_GT(curve[0].loss.mean, curve[1].loss.mean);
  EXPECT_GT(curve[1].loss.mean, curve[2].loss.mean);
  const auto drawn = member_curve(Members(12, members[0]), labels, Combination::probabilities, 1, 20);
  EXPECT_EQ(drawn[5].subsets, 20);
  EXPECT_FALSE(drawn[5].all);
  EXPECT_DOUBLE_EQ(drawn[5].error.mean, 25);
}

TEST(Tsne, KeepsFarClustersApart) {
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < 45; ++i) {
    RandomStream random(5, "cluster", {i});
    std::vector<double> row(10);
    for (double& x : row) x = random.normal();
    row[i % 3] += 40;
    rows.push_back(row);
  }
  const auto points = tsne(rows, {.perplexity = 10});
  for (size_t i = 0; i < points.size(); ++i) {
    const auto distance = [&](size_t j) {
      return std::hypot(points[i][0] - points[j][0], points[i][1] - points[j][1]);
    };
    size_t nearest = i == 0 ? 1 : 0;
    for (size_t j = 0; j < points.size(); ++j) {
      if (j != i && distance(j) < distance(nearest)) nearest = j;
    }
    EXPECT_EQ(nearest % 3, i % 3);
  }
  EXPECT_EQ(tsne(rows, {.perplexity = 10}), points);
}

}  // namespace
}  // namespace nascent
