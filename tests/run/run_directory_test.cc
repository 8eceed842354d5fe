#include "nascent/run/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "errors.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct RunDirectoryTest : testing::Test {
  RunDirectoryTest() { values.declare(options); }
  RunDirectory create(const std::string& name, bool overwrite = false) {
    return RunDirectory::create(folder / name, sample_description(), options, overwrite);
  }

  TemporaryDirectory folder;
  SampleOptions values;
  OptionTable options;
};

TEST_F(RunDirectoryTest, OptionsCanBeReadBack) {
  values.lr = 0.5;
  values.transforms = {"cutout"};
  const RunDirectory run = create("a");
  SampleOptions again;
  OptionTable table;
  again.declare(table);
  table.read_toml_file(run.options_path());
  EXPECT_EQ(again.lr, 0.5);
  EXPECT_EQ(again.transforms, values.transforms);
  EXPECT_EQ(run.options()["search"]["lr"], 0.5);
}

TEST_F(RunDirectoryTest, SaysWhatItIs) {
  create("a").finish(RunStatus::failed, "loss is nan");
  const RunDirectory run = RunDirectory::view(folder / "a");
  EXPECT_EQ(run.info()["verb"], "search");
  EXPECT_EQ(run.info()["version"], "0.1.0");
  EXPECT_EQ(run.info()["command"][2], "--space");
  EXPECT_EQ(run.info()["message"], "loss is nan");
  EXPECT_EQ(run.status(), RunStatus::failed);
  EXPECT_TRUE(fs::is_directory(run.checkpoints_path()));
}

TEST_F(RunDirectoryTest, NamesItself) {
  const fs::path before = fs::current_path();
  fs::create_directory(folder / "home");
  fs::current_path(folder / "home");
  auto description = sample_description();
  description.name = "darts/../x y";
  const auto first = RunDirectory::create("", description, options);
  const auto second = RunDirectory::create("", description, options);
  description.verb = "ensemble search";  // no name that a command line would cut in two
  const auto two_words = RunDirectory::create("", description, options);
  fs::current_path(before);
  EXPECT_EQ(first.path(), "runs/search-darts-..-x-y-1");
  EXPECT_EQ(second.path(), "runs/search-darts-..-x-y-2");
  EXPECT_EQ(two_words.path(), "runs/ensemble-search-darts-..-x-y-1");
}

TEST_F(RunDirectoryTest, DoesNotReplaceARunUnasked) {
  create("a").write_result({{"top1", 90}});
  EXPECT_THAT(error_of([&] { create("a"); }), AllOf(HasSubstr("--resume"), HasSubstr("--overwrite")));
  EXPECT_EQ(RunDirectory::view(folder / "a").result()["top1"], 90);
}

TEST_F(RunDirectoryTest, OverwriteRemovesTheRunAndNothingElse) {
  create("a").write_result({{"top1", 90}});
  write_file(folder / "a/notes.txt", "mine");
  write_file(folder / "a/best.nascent", "of the training that was here");
  create("a", true);
  EXPECT_TRUE(RunDirectory::view(folder / "a").result().empty());
  EXPECT_FALSE(fs::exists(folder / "a/best.nascent"));
  EXPECT_EQ(read_file(folder / "a/notes.txt"), "mine");
}

TEST_F(RunDirectoryTest, OverwriteRemovesTheRunsWithinIt) {
  create("a").add_part("search-1");
  create("a/search-1");
  create("a/another");
  write_file(folder / "a/search-party/notes.txt", "mine");
  create("a", true);
  EXPECT_FALSE(fs::exists(folder / "a/search-1"));
  EXPECT_TRUE(fs::exists(folder / "a/another/run.json")) << "it is no part of the run";
  EXPECT_EQ(read_file(folder / "a/search-party/notes.txt"), "mine");
}

// create() makes a lock, checkpoints, options.toml and run.json, in this order.
TEST_F(RunDirectoryTest, KilledAtBirthItIsNoRunAndInNobodysWay) {
  const std::vector<std::string> files = {"lock", "checkpoints/", "options.toml.partial.77", "options.toml",
                                          "run.json.partial.77"};
  for (size_t born = 0; born <= files.size(); ++born) {
    const std::string name = fmt::format("after-{}", born);
    fs::create_directory(folder / name);
    for (size_t i = 0; i < born; ++i) {
      if (files[i].ends_with('/')) {
        fs::create_directory(folder / name / files[i]);
      } else {
        write_file(folder / name / files[i], "half");
      }
    }
    create(name);
    EXPECT_EQ(RunDirectory::view(folder / name).options()["search"]["lr"], values.lr) << name;
    for (const auto& entry : fs::directory_iterator(folder / name)) {
      EXPECT_THAT(entry.path().string(), Not(HasSubstr("partial")));
    }
  }
  write_file(folder / "settings/options.toml", "[mine]");
  EXPECT_THAT(error_of([&] { create("settings"); }), HasSubstr("not a run")) << "no run has locked it";
}

TEST_F(RunDirectoryTest, KilledWhileItIsReplacedItCanBeReplacedAgain) {
  create("a").write_result({{"top1", 90}});
  fs::remove(folder / "a/options.toml");
  fs::remove_all(folder / "a/checkpoints");
  create("a", true);
  EXPECT_TRUE(RunDirectory::view(folder / "a").result().empty());
}

TEST_F(RunDirectoryTest, DoesNotWriteIntoSomethingElse) {
  write_file(folder / "home/letter.txt", "dear");
  write_file(folder / "file", "x");
  EXPECT_THAT(error_of([&] { create("home", true); }), HasSubstr("not a run"));
  EXPECT_THAT(error_of([&] { create("file"); }), HasSubstr("not a run"));
  EXPECT_FALSE(fs::exists(folder / "home/lock"));
}

TEST_F(RunDirectoryTest, IsUsedByOneProcessAtATime) {
  const RunDirectory run = create("a");
  const std::string message = error_of([&] { RunDirectory::resume(folder / "a", "search"); });
  EXPECT_THAT(message, AllOf(HasSubstr("in use"), HasSubstr(std::to_string(::getpid()))));
  EXPECT_THAT(error_of([&] { create("a", true); }), HasSubstr("in use"));
  EXPECT_EQ(RunDirectory::view(folder / "a").status(), RunStatus::running);
}

TEST_F(RunDirectoryTest, KilledRunCountsAsInterruptedAndCanBeResumed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory run = create("a");
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  write_file(folder / "a/checkpoints/checkpoint-1.nascent.partial.77", "half");
  EXPECT_EQ(RunDirectory::view(folder / "a").status(), RunStatus::interrupted);
  const RunDirectory run = RunDirectory::resume(folder / "a", "search");
  EXPECT_EQ(run.status(), RunStatus::running);
  EXPECT_EQ(run.info()["resumed"].size(), 1u);
  EXPECT_TRUE(fs::is_empty(run.checkpoints_path()));
}

TEST_F(RunDirectoryTest, ResumeChecksWhatItResumes) {
  create("a");
  EXPECT_THAT(error_of([&] { RunDirectory::resume(folder / "a", "train"); }), HasSubstr("nascent search --resume"));
  EXPECT_THAT(error_of([&] { RunDirectory::resume(folder / "b", "train"); }), HasSubstr("There is no run"));
  fs::create_directory(folder / "c");
  EXPECT_THAT(error_of([&] { RunDirectory::view(folder / "c"); }), HasSubstr("run.json"));
  write_file(folder / "a/run.json", "{\"verb\": ");
  EXPECT_THAT(error_of([&] { RunDirectory::view(folder / "a"); }), HasSubstr("damaged"));
}

TEST_F(RunDirectoryTest, KeepsTheGenotypeInEveryTextForm) {
  RunDirectory run = create("a");
  EXPECT_FALSE(run.genotype().has_value());
  run.write_genotype(sample_genotype());
  EXPECT_EQ(*run.genotype(), sample_genotype());
  const std::string text = read_file(folder / "a/genotype.txt");
  for (const auto& form : text_forms(sample_genotype())) {
    EXPECT_THAT(text, HasSubstr(to_text(sample_genotype(), form))) << form;
  }
}

TEST_F(RunDirectoryTest, ResumeRefusesEditedOptionsAndOtherImages) {
  auto description = sample_description();
  description.data = 0xabcd;
  RunDirectory::create(folder / "a", description, options);
  const auto resume = [&](std::optional<uint32_t> data) { RunDirectory::resume(folder / "a", "search", data); };
  EXPECT_NO_THROW(resume(0xabcd));
  EXPECT_NO_THROW(resume(std::nullopt));
  EXPECT_THAT(error_of([&] { resume(0xabce); }), HasSubstr("are not those it began with"));
  const std::string text = read_file(folder / "a" / "options.toml");
  write_file(folder / "a" / "options.toml", "# a remark\n" + text);
  EXPECT_NO_THROW(resume(0xabcd));
  const size_t at = text.find("lr = ");
  ASSERT_NE(at, std::string::npos);
  write_file(folder / "a" / "options.toml", text.substr(0, at) + "lr = 9" + text.substr(text.find(' ', at + 5)));
  EXPECT_THAT(error_of([&] { resume(0xabcd); }), AllOf(HasSubstr("search.lr is 9"), HasSubstr("began with 0.025")));
}

TEST_F(RunDirectoryTest, WrongTypesAreDamage) {
  create("a");
  const Json good = Json::parse(read_file(folder / "a" / "run.json"));
  for (const auto& [key, value] : good.items()) {
    if (key == "format") continue;
    Json bad = good;
    bad[key] = Json::object({{"x", 1}});
    write_file(folder / "a" / "run.json", bad.dump());
    EXPECT_THAT(error_of([&] { RunDirectory::view(folder / "a"); }), AllOf(HasSubstr("is damaged"), HasSubstr(key)));
  }
}

}  // namespace
}  // namespace nascent
