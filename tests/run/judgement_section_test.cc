#include "nascent/run/judgement_section.h"

#include <gmock/gmock.h>

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::Not;

Json judgement(std::vector<std::string> classes) {
  Json result = {{"classes", classes},
                 {"calibration_error", 3.25},
                 {"reliability", {{{"images", 4}, {"confidence", 0.9}, {"accuracy", 0.75}}}},
                 {"worst", {{{"image", 7}, {"label", classes[1]}, {"predicted", classes[0]}, {"probability", 0.987}}}}};
  for (size_t i = 0; i < classes.size(); ++i) {
    std::vector<int64_t> row(classes.size(), 0);
    row[i] = 3;
    row[0] += i == 1 ? 1 : 0;
    result["confusion"].push_back(row);
    result["class_accuracy"][classes[i]] = i == 1 ? 75 : 100;
  }
  return result;
}

TEST(JudgementSection, ShowsTheWeakestClassFirst) {
  const std::string page = judgement_section(judgement({"cat", "dog", "horse"}));
  EXPECT_THAT(page, HasSubstr("3 of 4"));
  EXPECT_LT(page.find("<td>dog"), page.find("<td>cat"));
  EXPECT_THAT(page, HasSubstr("3.25 points"));
  EXPECT_THAT(page, HasSubstr("dog, predicted as cat (98.7 %)"));
  EXPECT_THAT(page, HasSubstr("Confusion matrix"));
}

TEST(JudgementSection, ManyClassesGetAListOfConfusions) {
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("class" + std::to_string(i));
  const std::string page = judgement_section(judgement(names));
  EXPECT_THAT(page, Not(HasSubstr("Confusion matrix")));
  EXPECT_THAT(page, HasSubstr("<td>class1</td><td>class0</td><td>1 of 4</td>"));
}

// A training that diverged was reported as a failure of the report: JSON has no numbers that are not finite.
TEST(JudgementSection, ProbabilitiesMayBeMissing) {
  Json diverged = judgement({"cat", "dog"});
  diverged["calibration_error"] = diverged["worst"][0]["probability"] = Json();
  const std::string page = judgement_section(diverged);
  EXPECT_THAT(page, HasSubstr("The probabilities are not finite."));
  EXPECT_THAT(page, HasSubstr("dog, predicted as cat <span"));
}

TEST(JudgementSection, NamesAreText) {
  const std::string page = judgement_section(judgement({"<b>", "dog"}));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;"));
}

TEST(JudgementSection, NothingIsShownOfNothing) { EXPECT_EQ(judgement_section(Json::object()), ""); }

}  // namespace
}  // namespace nascent
