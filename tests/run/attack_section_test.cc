#include "nascent/run/attack_section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "nascent/core/files.h"
#include "nascent/run/bars.h"
#include "nascent/run/html.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json sample_result() {
  const auto defence = [](double eps) {
    return Json{{"rounds", {{{"member", "a"}, {"attack_top1", 20}, {"defence_top1", 60}}}},
                {"attack", {{"mean", 20.5}, {"deviation", 1.5}}},
                {"defence", {{"mean", 60.0}, {"deviation", 2.0}}},
                {"all_known_top1", 10},
                {"eps", eps}};
  };
  return {
      {"attack", "pgd"},
      {"norm", "linf"},
      {"units", "pixels"},
      {"images", 100},
      {"clean_top1", 90},
      {"robust_top1", 10},
      {"curve",
       {{{"eps", 0.01}, {"robust_top1", 40}, {"robust", 40}, {"images", 100}},
        {{"eps", 0.03}, {"robust_top1", 10}, {"robust", 10}, {"images", 100}, {"parts", {{"apgd-ce", 80}}}}}},
      {"defence", {defence(0.01), defence(0.03)}},
      {"transfer", {{{"made_on", {"a<b"}}, {"judged_by", {"a<b", "ensemble"}}, {"top1", {{20, 60}}}, {"eps", 0.03}}}},
      {"warnings", {{"zero_gradients", 3}, {"probabilities", false}, {"random_answers", true}}}};
}

struct AttackSectionTest : testing::Test {
  RunDirectory make() {
    values.declare(options);
    return RunDirectory::create(folder / "run", sample_description(), options);
  }
  TemporaryFolder folder;
  SampleOptions values;
  OptionTable options;
};

TEST_F(AttackSectionTest, ShowsCurveBarsMatrixWarningsAndImages) {
  RunDirectory run = make();
  EXPECT_EQ(attack_section(run), "");
  run.write_result(sample_result());
  std::filesystem::create_directories(run.path() / "adversarial");
  write_file(run.path() / "adversarial" / "grid.png", "PNG");
  const std::string markup = attack_section(run);
  EXPECT_THAT(markup, AllOf(HasSubstr("Accuracy under attack"), HasSubstr("40.00 %"), HasSubstr("10 of 100"),
                            HasSubstr("apgd-ce 80"), HasSubstr("Attack and defence"), HasSubstr("zero gradients"),
                            HasSubstr("random answers"), Not(HasSubstr("probabilities"))));
  EXPECT_THAT(markup, AllOf(HasSubstr("a&lt;b"), Not(HasSubstr("a<b")), HasSubstr("60.00 %")));
  EXPECT_THAT(markup, HasSubstr("data:image/png;base64,UE5H"));
}

TEST_F(AttackSectionTest, FiguresHaveTheirNumbersBesideThem) {
  RunDirectory run = make();
  write_attack_figures(sample_result(), run.path() / "figures");
  const std::string csv = read_file(run.path() / "figures" / "robust-accuracy.csv");
  EXPECT_THAT(csv, AllOf(HasSubstr("eps,curve,accuracy"), HasSubstr("0,\"ensemble, all members known\",90,90,90"),
                         HasSubstr("0.03,\"attacked member\",20.5,19,22")));
  EXPECT_THAT(read_file(run.path() / "figures" / "attack-defence.csv"), HasSubstr("0.01,\"a\",20,60,10"));
  EXPECT_THAT(read_file(run.path() / "figures" / "attack-defence.svg"),
              AllOf(HasSubstr("<svg xmlns"), Not(HasSubstr("var(--"))));
  if (!std::filesystem::exists(run.path() / "figures" / "robust-accuracy.svg")) GTEST_SKIP() << "needs gnuplot";
  for (const char* name : {"robust-accuracy.png", "attack-defence.png"}) {
    EXPECT_THAT(read_file(run.path() / "figures" / name), testing::StartsWith("\x89PNG")) << name;
  }
}

TEST(Bars, AreAsHighAsTheirValues) {
  const std::string drawn = draw_bars({{"x", {{50, 0}, {100, 10}}}});
  EXPECT_THAT(drawn, AllOf(HasSubstr("height=\"95.0\""), HasSubstr("height=\"190.0\"")));
}

// A browser shows a file of its own only where it is XML: no element has an attribute twice.
TEST(Bars, StandAloneAsXml) {
  const std::string svg = standalone_bars("Title", {{"a", {{50, 3}, {20, 0}}}, {"b", {{10, 0}}}}, {"one", "two"});
  const std::regex element("<([a-z]+)([^>]*)>"), attribute("([A-Za-z:-]+)=\"");
  int elements = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), element), end; at != end; ++at, ++elements) {
    const std::string inside = (*at)[2];
    std::set<std::string> names;
    for (std::sregex_iterator one(inside.begin(), inside.end(), attribute), last; one != last; ++one) {
      EXPECT_TRUE(names.insert((*one)[1]).second) << at->str();
    }
  }
  EXPECT_GT(elements, 10);
}

TEST(DataUri, IsPaddedAsTheStandardSays) {
  // RFC 4648, section 10.
  const std::vector<std::pair<std::string, std::string>> known = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known)
    EXPECT_EQ(html::data_uri("text/plain", bytes), "data:text/plain;base64," + text);
}

}  // namespace
}  // namespace nascent
