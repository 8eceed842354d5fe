#include "nascent/search/trace.h"

#include <cmath>
#include <limits>

#include "table/fixtures.h"

namespace nascent {
namespace {

// Proposes what it is given, and remembers what it was told.
class Script : public Strategy {
 public:
  explicit Script(std::vector<Budget> budgets) : budgets_(std::move(budgets)) {}
  std::optional<Proposal> propose() override {
    if (next_ == budgets_.size()) return std::nullopt;
    return Proposal{Genotype{}, budgets_[next_++]};
  }
  void tell(const Proposal&, double accuracy) override { told.push_back(accuracy); }

  std::vector<double> told;

 private:
  std::vector<Budget> budgets_;
  size_t next_ = 0;
};

class Answers : public Judge {
 public:
  explicit Answers(std::vector<Judgement> answers) : answers_(std::move(answers)) {}
  Judgement judge_anew(const Genotype&, const Budget&) override { return answers_.at(next_++); }

 private:
  std::vector<Judgement> answers_;
  size_t next_ = 0;
};

TEST(Trace, ChargesEveryValidationAndKeepsTheBest) {
  Script script(std::vector<Budget>(4, Budget(12)));
  Answers answers({{50, 10}, {70, 20}, {60, 5}, {80, 100}});
  const SearchTrace trace = search(script, answers, 100);
  ASSERT_EQ(trace.trials.size(), 3u) << "the fourth would end after 135 s";
  EXPECT_THAT(script.told, testing::ElementsAre(50, 70, 60));
  EXPECT_EQ(trace.trials[2].seconds, 35);
  EXPECT_EQ(trace.incumbent()->accuracy, 70);
  EXPECT_EQ(trace.incumbent_after(9.9), nullptr);
  EXPECT_EQ(trace.incumbent_after(10)->accuracy, 50);
  EXPECT_EQ(trace.incumbent_after(29)->accuracy, 50);
  EXPECT_EQ(trace.incumbent_after(30)->accuracy, 70);
  EXPECT_EQ(trace.incumbent_after(1e9)->accuracy, 70);
}

TEST(Trace, WhatIsNotANumberIsWorthLessThanAnything) {
  Script script(std::vector<Budget>(2, Budget(12)));
  Answers answers({{std::nan(""), 1}, {-1e300, 1}});
  const SearchTrace trace = search(script, answers, 100);
  constexpr double kWorst = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(script.told, testing::ElementsAre(kWorst, -1e300));
  EXPECT_EQ(trace.incumbent()->accuracy, -1e300);
}

TEST(Trace, ALargerBudgetCountsForMore) {
  Script script({Budget(12), Budget(200), Budget(12), Budget(200)});
  Answers answers({{80, 1}, {70, 1}, {90, 1}, {75, 1}});
  const SearchTrace trace = search(script, answers, 100);
  ASSERT_EQ(trace.trials.size(), 4u);
  EXPECT_EQ(trace.trials[1].incumbent, 1u);
  EXPECT_EQ(trace.trials[2].incumbent, 1u);
  EXPECT_EQ(trace.trials[3].incumbent, 3u);
}

TEST(Trace, StopsAfterTheMostTrials) {
  Script script(std::vector<Budget>(9, Budget(12)));
  Answers answers(std::vector<Judgement>(9, {50, 0}));
  EXPECT_EQ(search(script, answers, 1, 5).trials.size(), 5u);
}

}  // namespace
}  // namespace nascent
