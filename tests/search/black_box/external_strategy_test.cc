#include "nascent/search/encoding.h"
#include "nascent/search/strategy.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Commands are shell scripts that write down what they read.
class ExternalStrategyTest : public TableTest {
 protected:
  StrategySetting setting(const std::string& script) const {
    StrategySetting set{.space = find_space("nasbench201"), .budget = Budget(12)};
    set.fidelities = {Budget(4, 12), Budget(12)};
    set.options.command = "sh " + file("command.sh", script);
    set.seed = 7;
    return set;
  }

  // Answers each question, and each complaint, with the next of the lines; keeps what it was told in "told".
  std::string answering(const std::vector<std::string>& lines) const {
    std::string script = "exec 3> " + path("told") +
                         "\nnext() { while read -r line; do printf '%s\\n' \"$line\" >&3\n" +
                         "case $line in *propose*|*error*) return;; esac; done; exit; }\n";
    for (const std::string& line : lines) script += "next; printf '%s\\n' '" + line + "'\n";
    return script + "next; exit 5\n";
  }

  static std::unique_ptr<Strategy> made(const StrategySetting& set) {
    return Strategy::Registry::instance().make("external", set);
  }

  std::vector<Json> told() const {
    std::vector<Json> lines;
    for (const std::string& line : split(read_file(path("told")), '\n')) {
      if (!line.empty()) lines.push_back(Json::parse(line));
    }
    return lines;
  }
};

TEST_F(ExternalStrategyTest, ArchitecturesAreNamedInAnyWay) {
  const std::string text = "|nor_conv_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|";
  const auto space = find_space("nasbench201");
  const auto strategy =
      made(setting(answering({R"({"choices": [1, 2, 3, 4, 0, 1]})", R"({"architecture": ")" + text + "\"}",
                              R"({"architecture": "nasbench201:1462", "budget": "4of12"})", R"({"stop": true})"})));
  EXPECT_EQ(strategy->propose()->genotype, Encoding(space).decode({1, 2, 3, 4, 0, 1}));
  strategy->tell({space->at(0), Budget(12)}, 50);
  EXPECT_EQ(strategy->propose()->genotype, nb201(text));
  strategy->spent(12.25);
  strategy->tell({nb201(text), Budget(12)}, 61.5);
  const auto third = strategy->propose();
  EXPECT_EQ(third->genotype, space->at(1462));
  EXPECT_EQ(third->budget, Budget(4, 12));
  EXPECT_FALSE(strategy->propose());
  EXPECT_FALSE(strategy->propose());  // nor later

  const std::vector<Json> lines = told();
  EXPECT_EQ(lines[0].at("type"), "start");
  EXPECT_EQ(lines[0].at("protocol"), 1);
  EXPECT_EQ(lines[0].at("space"), "nasbench201");
  EXPECT_EQ(lines[0].at("sizes"), Json({5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(lines[0].at("budgets"), Json({"4of12", "12"}));
  EXPECT_EQ(lines[0].at("seed"), 7);
  EXPECT_EQ(lines[1], Json({{"type", "propose"}, {"trial", 0}}));
  EXPECT_EQ(lines[4].at("type"), "result");
  EXPECT_EQ(lines[4].at("trial"), 1);
  EXPECT_EQ(lines[4].at("architecture"), text);
  EXPECT_EQ(lines[4].at("choices"), Json(Encoding(space).encode(nb201(text))));
  EXPECT_EQ(lines[4].at("accuracy"), 61.5);
  EXPECT_EQ(lines[4].at("budget"), "12");
  EXPECT_EQ(lines[4].at("seconds"), 12.25);
  EXPECT_EQ(lines[4].at("replayed"), false);
}

TEST_F(ExternalStrategyTest, WrongAnswersAreExplained) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"no json", "is not JSON"},
      {"[1, 2]", "not a JSON object but array"},
      {"{}", "has 0 of"},
      {R"({"choice": [1]})", "Did you mean 'choices'?"},
      {R"({"choices": [1, 2]})", "a list of 6 whole numbers"},
      {R"({"choices": [0, 0, 0, 0, 0, 5]})", "\"choices\"[5] is 5; a whole number from 0 to 4"},
      {R"({"architecture": "|conv~0|+|none~0|none~1|+|none~0|none~1|none~2|"})", "conv"},
      {R"({"architecture": "nasbench201:0", "budget": "13"})", "one of \"4of12\", \"12\""},
      {R"({"stop": 1})", "only true"}};
  std::vector<std::string> answers;
  for (const auto& [answer, complaint] : wrong) answers.push_back(answer);
  answers.emplace_back(R"({"choices": [0, 0, 0, 0, 0, 0]})");
  const auto strategy = made(setting(answering(answers)));
  ASSERT_TRUE(strategy->propose());
  const std::vector<Json> lines = told();
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(lines[2 + i].at("type"), "error");
    EXPECT_EQ(lines[2 + i].at("tries"), 9 - i);
    EXPECT_THAT(lines[2 + i].at("message").get<std::string>(), HasSubstr(wrong[i].second));
  }
}

TEST_F(ExternalStrategyTest, PatienceEnds) {
  const auto strategy = made(setting("while read -r line; do echo nonsense; done"));
  EXPECT_THAT(error_of([&] { strategy->propose(); }),
              AllOf(HasSubstr("10 invalid answers in a row"), HasSubstr("'nonsense'")));
}

TEST_F(ExternalStrategyTest, ADeadCommandIsTold) {
  StrategySetting set = setting(answering({R"({"choices": [0, 0, 0, 0, 0, 0]})"}));
  set.resume = "nascent search --resume there";
  const auto strategy = made(set);
  const auto proposal = strategy->propose();
  strategy->tell(*proposal, 10);
  EXPECT_THAT(error_of([&] { strategy->propose(); }),
              AllOf(HasSubstr("ended with exit code 5"), HasSubstr("after 1 evaluations"),
                    HasSubstr("resume with: nascent search --resume there")));
  EXPECT_THAT(error_of([&] { made({.space = set.space}); }), HasSubstr("--command is missing"));
}

TEST_F(ExternalStrategyTest, WhatWasProposedBeforeIsToldFirst) {
  StrategySetting set = setting(answering({R"({"choices": [0, 0, 0, 0, 0, 0]})"}));
  set.proposed = {{set.space->at(5), Budget(12)}, {set.space->at(5), Budget(4, 12)}};
  const auto strategy = made(set);
  for (const Proposal& earlier : set.proposed) {
    const auto proposal = strategy->propose();
    EXPECT_EQ(proposal->genotype, earlier.genotype);
    EXPECT_EQ(proposal->budget, earlier.budget);
    strategy->tell(*proposal, 20);
  }
  EXPECT_EQ(strategy->propose()->genotype, Encoding(set.space).decode({0, 0, 0, 0, 0, 0}));
  const std::vector<Json> lines = told();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].at("replayed"), 2);
  EXPECT_EQ(lines[1].at("replayed"), true);
  EXPECT_EQ(lines[2].at("budget"), "4of12");
  EXPECT_EQ(lines[3], Json({{"type", "propose"}, {"trial", 2}}));
}

}  // namespace
}  // namespace nascent
