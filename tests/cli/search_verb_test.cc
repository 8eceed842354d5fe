// The search verb beyond one search: stages, scale, recipes as they resolve, data of the user's own.
#include <gmock/gmock.h>

#include "cli/program.h"
#include "data/fixtures.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SearchVerbTest : public ProgramTest {
 protected:
  static std::vector<std::string> small_data() {
    return {"--data", "random", "--size", "64", "--shape", "3,8,8", "--classes", "4", "--batch", "8", "--threads", "1"};
  }
  std::vector<std::string> search(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"search", "--space",    "nasbench201", "--epochs", "1",      "--cells",
                                    "1",      "--channels", "4",           "--out",    path(out)};
    for (const auto& word : small_data()) all.push_back(word);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> staged(const std::string& out) const {
    return search(out, {"--relaxation",
                        "single-path",
                        "--seeds",
                        "3",
                        "--stage2-epochs",
                        "2",
                        "--stage2-keep",
                        "2",
                        "--stage2-valid-fraction",
                        "0.25",
                        "--stage3-seeds",
                        "2",
                        "--checkpoint-steps",
                        "1",
                        "--retrain-set",
                        "train.epochs=2,network.cells=1,network.channels=4,data.batch=8,train.lr=0.05",
                        "--discretisation",
                        "best-sample",
                        "--samples",
                        "2"});
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }

  // What a recipe found when its golden result was written (NASCENT_WRITE_GOLDEN=1 writes them anew): the cell itself,
  // and numbers to a thousandth, as instruction sets differ in the last digits.
  static void compare_with_golden(const std::string& recipe, const Json& found) {
    const auto file = std::filesystem::path(NASCENT_SOURCE) / "tests" / "golden" / (recipe + ".json");
    Json kept = Json::object();
    for (const char* key : {"genotype_text", "entropy", "parameters", "multiply_adds", "valid_top1", "validations"}) {
      if (found.contains(key)) kept[key] = found[key];
    }
    if (std::getenv("NASCENT_WRITE_GOLDEN") != nullptr) write_file(file, kept.dump(2) + "\n");
    ASSERT_TRUE(std::filesystem::exists(file)) << recipe << " has no golden result";
    const Json golden = Json::parse(read_file(file));
    ASSERT_EQ(golden.size(), kept.size()) << recipe;
    for (const auto& [key, value] : golden.items()) {
      if (value.is_number()) {
        EXPECT_NEAR(kept.at(key).get<double>(), value.get<double>(), 1e-3 * std::abs(value.get<double>()) + 1e-6)
            << recipe << ": " << key;
      } else {
        EXPECT_EQ(kept.at(key), value) << recipe << ": " << key;
      }
    }
  }
};

TEST_F(SearchVerbTest, ThreeStagesSearchEliminateAndTrain) {
  const Json result = json_of(staged("whole"));
  const Json& stages = result.at("stages");
  ASSERT_EQ(stages.at("searches").size(), 3u);
  ASSERT_EQ(stages.at("candidates").size(), 3u) << "three random samples of 15625 cells";
  double last = 101;
  size_t trained = 0;
  for (const auto& candidate : stages.at("candidates")) {
    EXPECT_LE(candidate.at("valid_top1").get<double>(), last);
    last = candidate.at("valid_top1");
    EXPECT_EQ(candidate.at("kept").get<bool>(), candidate.contains("mean"));
    if (!candidate.contains("mean")) continue;
    ++trained;
    const std::vector<double> each = candidate.at("test_top1");
    ASSERT_EQ(each.size(), 2u);
    EXPECT_NEAR(candidate.at("mean").get<double>(), (each[0] + each[1]) / 2, 1e-9);
    EXPECT_NEAR(candidate.at("deviation").get<double>(), std::abs(each[0] - each[1]) / std::sqrt(2.0), 1e-9);
  }
  EXPECT_EQ(trained, 2u);
  EXPECT_EQ(result.at("test_top1"), stages.at("candidates")[0].at("mean"));
  // Every part is a run of its own, of the size that was asked for.
  const Json part =
      Json::parse(bytes("whole/stage3-" + stages.at("candidates")[0].at("candidate").dump() + "-2/run.json"));
  EXPECT_EQ(part.at("status"), "done");
  EXPECT_THAT(bytes("whole/stage2-1/options.toml"), AllOf(HasSubstr("valid-fraction = 0.25"), HasSubstr("epochs = 2")));
  EXPECT_THAT(bytes("whole/report.html"), AllOf(HasSubstr("Stages"), HasSubstr("search-2/report.html")));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "whole" / "genotype.json"));
  // Replaced by another run, nothing of it is taken over.
  std::vector<std::string> other = staged("whole");
  for (const std::string word : {"--overwrite", "--seed", "20", "--stage2-epochs", "0", "--stage3-seeds", "0"})
    other.push_back(word);
  const Json replaced = json_of(other);
  EXPECT_EQ(replaced.at("stages").at("searches")[0].at("seed"), 20);
  EXPECT_NE(replaced.at("stages").at("candidates")[0].at("cell"), stages.at("candidates")[0].at("cell"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "whole" / "stage2-1"));
}

TEST_F(SearchVerbTest, ThreeStagesKilledAnywhereEndTheSame) {
  json_of(staged("whole"));
  EXPECT_GE(stopped_until_it_ends(staged("parts"), "parts", SIGKILL), 2);
  EXPECT_EQ(bytes("whole/result.json"), bytes("parts/result.json"));
  EXPECT_EQ(bytes("whole/genotype.json"), bytes("parts/genotype.json"));
}

TEST_F(SearchVerbTest, WhatDoesNotFitIntoMemoryIsRefusedBeforeItStarts) {
  const auto result = nascent({"search", "--space", "darts", "--data", "random", "--shape", "3,32,32", "--engine",
                               "reference", "--memory", "2", "--out", path("large")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("2.0 GB"), HasSubstr("data.batch (now 64)"), HasSubstr("fused")));
  EXPECT_FALSE(std::filesystem::exists(path("large")));
}

TEST_F(SearchVerbTest, ScaleShrinksWhatIsNotTyped) {
  std::vector<std::string> words = {"search",   "--recipe", "pc-darts", "--scale",    "0.1",
                                    "--epochs", "1",        "--out",    path("small")};
  for (const auto& word : {"--data", "random", "--size", "640", "--shape", "3,8,8", "--batch", "8", "--threads", "1"})
    words.emplace_back(word);
  const auto result = nascent(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("network.channels 16 -> 4"), HasSubstr("network.cells 8 -> 3"),
                                HasSubstr("data.limit 0 -> 64"), HasSubstr("search.freeze-epochs 15 -> 2")));
  EXPECT_THAT(result.err, Not(HasSubstr("search.epochs 50")));
  EXPECT_THAT(bytes("small/options.toml"),
              AllOf(HasSubstr("\nepochs = 1 "), HasSubstr("\nchannels = 4 "), HasSubstr("\npartial = 4 ")));
  const auto refused = nascent({"search", "--resume", path("small"), "--scale", "0.5"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a resumed run keeps its options"));
}

TEST_F(SearchVerbTest, ScaleShrinksTheTrainingsOfStagesToo) {
  std::vector<std::string> words = {"search",
                                    "--recipe",
                                    "darts-1st",
                                    "--scale",
                                    "0.001",
                                    "--stage3-seeds",
                                    "1",
                                    "--out",
                                    path("small"),
                                    "--retrain-set",
                                    "train.lr=0.01,data.batch=8"};
  for (const auto& word : {"--data", "random", "--size", "16", "--shape", "3,8,8", "--batch", "8", "--threads", "1"})
    words.emplace_back(word);
  const Json found = json_of(words);
  EXPECT_EQ(found.at("stages").at("candidates")[0].at("test_top1").size(), 1u);
  // retrain-cifar: 600 epochs, 20 cells, 36 channels.
  EXPECT_THAT(bytes("small/stage3-1-1/options.toml"),
              AllOf(HasSubstr("\nepochs = 1 "), HasSubstr("\ncells = 3 "), HasSubstr("\nchannels = 4 "),
                    HasSubstr("\nauxiliary = true "), HasSubstr("\nlr = 0.01 ")));
}

TEST_F(SearchVerbTest, TrainingsScaleWithTheirRecipe) {
  std::vector<std::string> words = {
      "train", "--recipe", "retrain-nasbench201", "--genotype", "nasbench201:4321", "--scale",
      "0.01",  "--out",    path("small")};
  for (const auto& word : {"--data", "random", "--size", "32", "--shape", "3,8,8", "--batch", "8", "--threads", "1"})
    words.emplace_back(word);
  json_of(words);
  EXPECT_THAT(bytes("small/options.toml"), AllOf(HasSubstr("\nepochs = 2 "), HasSubstr("\ncells = 1 "),
                                                 HasSubstr("\nchannels = 4 "), HasSubstr("\nlimit = 8 ")));
}

TEST_F(SearchVerbTest, RecipesAreShownAsTheyResolve) {
  const auto shown = nascent({"recipes", "gaea-pc-darts"});
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("For 'nascent search'"), HasSubstr("epochs = 50  # * epochs over the training split"),
                    HasSubstr("partial = 4  # * "), HasSubstr("channels = 16  # channels"),
                    HasSubstr("seed = 1  # random seed")));
  write_file(path("again.toml"), shown.out);
  const Json again = json_of({"recipes", path("again.toml")}), first = json_of({"recipes", "gaea-pc-darts"});
  EXPECT_EQ(again.at("options"), first.at("options")) << "what is printed is an option file";
  EXPECT_EQ(json_of({"recipes", "retrain-cifar"}).at("verb"), "train");
  EXPECT_THAT(nascent({"recipes", "gdas", "--source"}).out, testing::StartsWith("# GDAS"));
}

TEST_F(SearchVerbTest, ACollapseIsToldInTerminalResultAndReport) {
  const auto result = nascent(search("skips", {"--exclude", "none,nor_conv_1x1,nor_conv_3x3,avg_pool_3x3"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string text = "every edge of the cell is skip_connect";
  EXPECT_THAT(result.err, HasSubstr("the search has collapsed: " + text));
  EXPECT_THAT(result.out, HasSubstr("Collapsed: " + text));
  EXPECT_EQ(Json::parse(bytes("skips/result.json")).at("collapse"), text);
  EXPECT_THAT(bytes("skips/report.html"), HasSubstr("The search has collapsed: since epoch 1, " + text));
}

TEST_F(SearchVerbTest, ALossThatIsNotFiniteIsToldInTerminalAndReport) {
  const auto result = nascent(search("wild", {"--weights.lr", "1000", "--weights.clip", "0", "--epochs", "20"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("nan"), HasSubstr("step")));
  EXPECT_THAT(bytes("wild/report.html"), AllOf(HasSubstr("The run failed"), HasSubstr("nan")));
}

// Every method, at the smallest scale there is: one epoch of one step, two judgements, a pool of four.
TEST_F(SearchVerbTest, EveryRecipeOfASearchRuns) {
  int searches = 0;
  for (const auto& entry : json_of({"recipes"})) {
    if (entry.at("verb") != "search") continue;
    ++searches;
    const std::string name = entry.at("name");
    const Json recipe = json_of({"recipes", name}).at("options").at("search");
    std::vector<std::string> words = {"search", "--recipe",  name,    "--scale", "0.001",   "--data",
                                      "random", "--shape",   "3,8,8", "--size",  "16",      "--batch",
                                      "8",      "--threads", "1",     "--out",   path(name)};
    const auto add = [&](const std::vector<std::string>& more) { words.insert(words.end(), more.begin(), more.end()); };
    const std::string method = recipe.at("method"), judge = recipe.at("judge");
    if (recipe.at("discretisation") == "best-sample") add({"--samples", "2"});
    if (method == "nasi") add({"--steps", "2"});
    if (method == "te-nas") add({"--repeats", "1", "--kernel-images", "4", "--region-images", "16"});
    if (method == "hnas" || method == "maximise") add({"--no-all", "--sample", "4", "--cache", "none"});
    if (!judge.empty()) add({"--judge", "training", "--validations", "2", "--budget", "0", "--cache", "none"});
    const Json found = json_of(words);
    EXPECT_EQ(found.at("genotype").at("space"), recipe.at("space")) << name;
    EXPECT_EQ(found.at("method"), method);
    EXPECT_EQ(found.at("recipe"), name);
    compare_with_golden(name, found);
  }
  EXPECT_GE(searches, 30);
}

// Three classes of flat colours, in folders: a search on a user's own images.
TEST_F(SearchVerbTest, SearchesAnImageFolder) {
  for (const std::string part : {"train", "val"}) {
    for (int i = 0; i < 48; ++i) {
      const int label = i % 3;
      const auto shade = static_cast<uint8_t>(60 + 4 * i);
      const Image image = solid_image(9, 9, label == 0 ? shade : 0, label == 1 ? shade : 0, label == 2 ? shade : 0);
      write_png(folder_ / "images" / part / ("class" + std::to_string(label)) / (std::to_string(i) + ".png"), image);
    }
  }
  const Json found = json_of({"search",
                              "--space",
                              "nasbench201",
                              "--data",
                              "image-folder",
                              "--path",
                              path("images"),
                              "--epochs",
                              "1",
                              "--cells",
                              "1",
                              "--channels",
                              "4",
                              "--batch",
                              "8",
                              "--threads",
                              "1",
                              "--out",
                              path("found"),
                              "--train-transforms",
                              "resize 8 8,normalise",
                              "--eval-transforms",
                              "resize 8 8,normalise"});
  EXPECT_EQ(found.at("genotype").at("space"), "nasbench201");
  EXPECT_GT(found.at("parameters").get<int64_t>(), 0);
}

TEST_F(SearchVerbTest, ResumesWithASpaceFileThatIsGone) {
  write_file(path("mine.toml"),
             "name = \"mine\"\nops = [\"skip_connect\", \"sep_conv_3x3\"]\ncells = 3\n[[cell]]\ntype = \"normal\"\n"
             "nodes = 2\n[[cell]]\ntype = \"reduce\"\nnodes = 2\n");
  std::vector<std::string> words = {"search",     "--space", path("mine.toml"), "--epochs",  "1",
                                    "--channels", "4",       "--out",           path("mine")};
  for (const auto& word : small_data()) words.push_back(word);
  json_of(words);
  const std::string genotype = bytes("mine/genotype.json");
  std::filesystem::remove(path("mine.toml"));
  json_of({"search", "--resume", path("mine")});
  EXPECT_EQ(bytes("mine/genotype.json"), genotype);
}

TEST_F(SearchVerbTest, GatesAndPartialChannelsOnOneShot) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--recipe", "pc-darts-1shot1"}, std::vector<std::string>{"--relaxation", "gates"}}) {
    std::vector<std::string> words = search("one-shot-" + more[1], more);
    words[2] = "nasbench1shot1-s2";
    EXPECT_EQ(json_of(words).at("genotype").at("space"), "nasbench1shot1-s2") << more[1];
  }
}

}  // namespace
}  // namespace nascent
