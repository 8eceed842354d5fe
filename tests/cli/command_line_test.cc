#include <gmock/gmock.h>

#include <set>

#include "cli/program.h"
#include "nascent/cli/help.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using CommandLine = ProgramTest;

TEST_F(CommandLine, VersionNamesTheEngine) {
  const auto result = nascent({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("nascent 0."), HasSubstr("LibTorch"), HasSubstr("thread")));
}

TEST_F(CommandLine, HelpListsEveryVerb) {
  const auto result = nascent({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const auto& name : Verb::Registry::instance().names()) EXPECT_THAT(result.out, HasSubstr("\n  " + name));
}

TEST_F(CommandLine, MistakesEndWithTwoAndSayWhatWasMeant) {
  const auto check = [](std::vector<std::string> arguments, const std::string& text) {
    const auto result = nascent(std::move(arguments));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(result.out, "");
  };
  check({"serach"}, "Did you mean 'search'?");
  check({"search", "--epoch", "3"}, "'--epochs'");
  check({"search", "--epochs", "none"}, "search.epochs");
  check({"search", "--epochs", "0"}, "1 to 100000");
  check({"search", "--epochs"}, "--epochs");
  check({"search", "--set", "data.nmae=x"}, "'data.name'");
  check({"search", "--recipe", "drats-1st"}, "'darts-1st'");
  check({"search", "--space", "drats", "--data", "random"}, "'darts'");
  check({"search", "--data", "cifar10", "--path", "/nonexistent"}, "/nonexistent");
  check({"search", "--config", "/nonexistent.toml"}, "/nonexistent.toml");
  check({"train", "--data", "random"}, "--genotype");
  check({"train", "--genotype", "darts-v3", "--data", "random"}, "darts-v2");
  check({"eval", "/nonexistent.nascent"}, "/nonexistent.nascent");
  check({"search", "--resume", "/nonexistent"}, "/nonexistent");
  check({"report", "/nonexistent"}, "/nonexistent");
  check({"--json"}, "verb");
}

TEST_F(CommandLine, ARefusedRunLeavesNothingBehind) {
  const auto result =
      nascent({"search", "--data", "random", "--update", "exponentiated-gradient", "--out", path("run")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--relaxation simplex"));
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(CommandLine, TheReferencePageIsCurrent) {
  EXPECT_EQ(read_file(std::string(NASCENT_SOURCE) + "/docs/options.md"), options_reference() + "\n")
      << "run 'make docs' to write it anew";
}

// A recipe says which verb it is for and fits it, and says in its first line what it is.
TEST_F(CommandLine, EveryRecipeFitsAVerb) {
  ASSERT_GE(recipes().size(), 4u);
  for (const auto& recipe : recipes()) {
    EXPECT_FALSE(recipe.summary().empty()) << recipe.name;
    const auto verb = Verb::Registry::instance().make(recipe.verb());
    OptionTable table;
    verb->declare(table);
    EXPECT_NO_THROW(table.read_toml(recipe.text, recipe.name)) << recipe.name;
  }
}

// 'search --recipe rea' said: no option 'clock.budget'.
TEST_F(CommandLine, ARecipeOfAnotherVerbSaysWhichItIsFor) {
  const auto result = nascent({"search", "--recipe", "retrain-cifar"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("type nascent train --recipe retrain-cifar"));
  EXPECT_EQ(nascent({"train", "--recipe", "rea"}).exit_code, 2);
  EXPECT_THAT(nascent({"recipes"}).out,
              AllOf(HasSubstr("rea                    search "), HasSubstr("retrain-cifar          train ")));
}

// A flag used to change its name when another section got an option of the same name.
TEST_F(CommandLine, NoFlagMeansTwoThings) {
  for (const auto& [name, entry] : Verb::Registry::instance().entries()) {
    const auto verb = entry.make();
    OptionTable table;
    verb->declare(table);
    std::set<std::string> flags = {"--json",  "--recipe", "--config", "--set",    "--resume",
                                   "--scale", "--help",   "--quiet",  "--verbose"};
    for (const auto& option : table.options()) {
      EXPECT_TRUE(flags.insert(table.flag(option)).second) << "nascent " << name << ": " << table.flag(option);
    }
  }
}

TEST_F(CommandLine, GenotypesAreShownConvertedAndDrawn) {
  const Json shown = json_of({"genotype", "darts-v2"});
  EXPECT_NEAR(shown.at("parameters").get<double>(), 3.35e6, 0.005e6);
  EXPECT_EQ(shown.at("cells")[0].at("depth"), 3);
  const auto text = nascent({"genotype", "darts-v2", "--form", "darts"});
  EXPECT_THAT(text.out, HasSubstr("Genotype(normal=[('sep_conv_3x3', 0)"));
  const auto again = nascent({"genotype", text.out, "--form", "json"});
  EXPECT_EQ(again.out, nascent({"genotype", "darts-v2", "--form", "json"}).out);
  EXPECT_EQ(nascent({"genotype", "enas", "--draw", path("enas.png")}).exit_code, 0);
  EXPECT_EQ(read_file(path("enas.png")).substr(1, 3), "PNG");
  EXPECT_EQ(nascent({"genotype", "enas", "--draw", path("enas.gif")}).exit_code, 2);
}

TEST_F(CommandLine, SpacesAreListedSampledAndEnumerated) {
  EXPECT_GE(json_of({"space"}).size(), 9u);
  EXPECT_EQ(json_of({"space", "nasbench201"}).at("count"), 15625);
  EXPECT_EQ(json_of({"space", "darts", "--sample", "3"}).size(), 3u);
  const auto all = nascent({"space", "nasbench201", "--enumerate"});
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 15625);
}

TEST_F(CommandLine, DataIsDescribed) {
  const Json data = json_of({"data", "random", "--size", "20", "--classes", "3", "--valid-fraction", "0"});
  EXPECT_EQ(data.at("train"), 20);
  EXPECT_EQ(data.at("classes").size(), 3u);
}

}  // namespace
}  // namespace nascent
