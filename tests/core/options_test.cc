#include "nascent/core/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "errors.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

using testing::HasSubstr;

struct Sample {
  int epochs = 600;
  int64_t seed = 0;
  double lr = 0.025;
  bool nesterov = false;
  std::string schedule = "cosine";
  std::vector<std::string> transforms = {"flip"};
  std::vector<double> shape;
  double other_lr = 1;

  void declare(OptionTable& table) {
    auto train = table.section("train", "Training.");
    train.add("epochs", epochs, "passes over the data").range(1, 1000);
    train.add("seed", seed, "of every random stream").at_least(0);
    train.add("lr", lr, "learning rate").at_least(0);
    train.add("nesterov", nesterov, "look ahead");
    train.add("schedule", schedule, "how the rate falls").one_of({"cosine", "linear"});
    train.add("transforms", transforms, "of images");
    train.add("shape", shape, "of images");
    table.section("arch", "ArchitectureParameters.").add("lr", other_lr, "learning rate").flag("arch.lr");
  }
};

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() { sample.declare(table); }

  Sample sample;
  OptionTable table;
};

TEST_F(OptionsTest, ReadsToml) {
  table.read_toml(
      "[train]\nepochs = 3\nlr = 1\nnesterov = true\nschedule = \"linear\"\ntransforms = [\"a 1\", \"b\"]\nshape = [1, "
      "2.5]\n",
      "x.toml");
  EXPECT_EQ(sample.epochs, 3);
  EXPECT_EQ(sample.lr, 1);
  EXPECT_TRUE(sample.nesterov);
  EXPECT_EQ(sample.schedule, "linear");
  EXPECT_EQ(sample.transforms, (std::vector<std::string>{"a 1", "b"}));
  EXPECT_EQ(sample.shape, (std::vector<double>{1, 2.5}));
}

TEST_F(OptionsTest, WritesWhatItReads) {
  table.read_toml("[train]\nepochs = 3\nlr = 2\ntransforms = [\"a \\\"q\\\"\"]\nshape = [3, 32, 32]\n[arch]\nlr = 1e-9",
                  "x");
  Sample again;
  OptionTable other;
  again.declare(other);
  other.read_toml(table.to_toml(), "again");
  EXPECT_EQ(other.to_json(), table.to_json());
  EXPECT_EQ(other.to_toml(), table.to_toml());
}

TEST_F(OptionsTest, ReadsAssignments) {
  table.read_assignment("train.lr=0.5");
  table.read_assignment("train.transforms = [a 1, 'b']");
  table.read_assignment("train.shape=3,32,32");
  table.read_assignment("train.nesterov=yes");
  EXPECT_EQ(sample.lr, 0.5);
  EXPECT_EQ(sample.transforms, (std::vector<std::string>{"a 1", "b"}));
  EXPECT_EQ(sample.shape, (std::vector<double>{3, 32, 32}));
  EXPECT_TRUE(sample.nesterov);
}

TEST_F(OptionsTest, UnderscoresAreDashes) {
  Sample s;
  OptionTable t;
  int value = 0;
  t.section("a", "").add("two-words", value, "");
  t.read_toml("[a]\ntwo_words = 4", "x");
  EXPECT_EQ(value, 4);
}

TEST_F(OptionsTest, UnknownKeyNamesTheClosest) {
  EXPECT_THAT(error_of([&] { table.read_toml("[train]\nepoch = 3", "x.toml"); }),
              testing::AllOf(HasSubstr("x.toml:2"), HasSubstr("train.epoch"), HasSubstr("'train.epochs'")));
  EXPECT_THAT(error_of([&] { table.read_assignment("lr=1"); }), HasSubstr("'train.lr' or 'arch.lr'"));
}

TEST_F(OptionsTest, WrongValuesSayWhatWasExpected) {
  EXPECT_THAT(error_of([&] { table.read_assignment("train.epochs=0"); }),
              HasSubstr("train.epochs is 0; expected: 1 to 1000"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.epochs=2.5"); }), HasSubstr("expected: integer"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.epochs=many"); }), HasSubstr("expected: integer"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.nesterov=perhaps"); }), HasSubstr("expected: yes/no"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.schedule=cosin"); }),
              testing::AllOf(HasSubstr("one of cosine, linear"), HasSubstr("Did you mean 'cosine'?")));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.lr=nan"); }), HasSubstr("train.lr"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.seed=1e30"); }), HasSubstr("too large"));
  EXPECT_THAT(error_of([&] { table.read_assignment("train.epochs"); }), HasSubstr("key=value"));
  EXPECT_EQ(sample.epochs, 600) << "a refused value must leave the option alone";
}

TEST_F(OptionsTest, BrokenTomlNamesLineAndColumn) {
  EXPECT_THAT(error_of([&] { table.read_toml("[train]\nepochs = = 3", "x.toml"); }), HasSubstr("x.toml:2:"));
  EXPECT_THAT(error_of([&] { table.read_toml("epochs = 3", "x.toml"); }), HasSubstr("outside a section"));
}

TEST_F(OptionsTest, FlagsAreNamesUnlessTheDefinitionSaysOtherwise) {
  EXPECT_EQ(table.flag(table.at("train.epochs", "")), "--epochs");
  EXPECT_EQ(table.flag(table.at("arch.lr", "")), "--arch.lr");
  std::string data;
  table.section("data", "").add("name", data, "").flag("data");
  EXPECT_EQ(table.flag(table.at("data.name", "")), "--data");
}

// --lr became --train.lr when another section got an option 'lr'.
TEST_F(OptionsTest, NoOptionChangesTheFlagOfAnother) {
  EXPECT_EQ(table.flag(table.at("train.lr", "")), "--lr");
  double third = 0;
  table.section("weights", "").add("lr", third, "").flag("weights.lr");
  EXPECT_EQ(table.flag(table.at("train.lr", "")), "--lr");
}

TEST_F(OptionsTest, TheVerbOfARecipeIsNoOption) {
  EXPECT_NO_THROW(table.read_toml("verb = \"train\"\n[train]\nepochs = 3", "x.toml"));
  EXPECT_EQ(sample.epochs, 3);
}

}  // namespace
}  // namespace nascent
