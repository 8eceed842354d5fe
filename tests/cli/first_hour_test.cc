// What people run into in their first hour with the program: nothing is silent, nothing is lost, every mistake is told.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "cli/program.h"
#include "nascent/core/text.h"
#include "nascent/data/image_file.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FirstHour : public ProgramTest {
 protected:
  // By way of a shell, for redirections and limits; "nascent" is the program.
  ProgramOutput shell(const std::string& command) const {
    const std::string program =
        fmt::format("nascent() {{ \"{}\" \"$@\"; }}; cd '{}'; ", NASCENT_PROGRAM, folder_.string());
    return run_program({"bash", "-c", program + command}, "", std::chrono::minutes(3)).value();
  }

  static std::vector<std::string> tiny(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    const std::vector<std::string> small = {"--data",     "random", "--size",  "32", "--shape",   "3,8,8",
                                            "--classes",  "2",      "--batch", "8",  "--epochs",  "1",
                                            "--channels", "4",      "--cells", "1",  "--threads", "1"};
    words.insert(words.end(), small.begin(), small.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static void expect_refused(const ProgramOutput& result, const std::string& text) {
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(text), Not(HasSubstr("filesystem error")), Not(HasSubstr("json.exception")),
                                  Not(HasSubstr("frame #"))));
  }

  // `count` pictures of noise, their classes told by brightness.
  void write_pictures(const std::string& name, int count, int side, bool grey = false) const {
    for (int i = 0; i < count; ++i) {
      Image image;
      image.reshape({3, side, side});
      RandomStream random(7, name, {static_cast<uint64_t>(i)});
      for (size_t p = 0; p < image.pixels.size(); p += 3) {
        const auto level = static_cast<uint8_t>(random.below(200));
        for (int c = 0; c < 3; ++c) image.pixels[p + c] = grey ? level : static_cast<uint8_t>(random.below(256));
      }
      write_file(path(fmt::format("{}/{}.png", name, i)), encode_png(image));
    }
  }
};

// 'score --csv /dev/full' as root made a plain file of the device; a link was replaced instead of followed.
TEST_F(FirstHour, OutputGoesWhereItIsSent) {
  ASSERT_EQ(::mkfifo(path("pipe.svg").c_str(), 0600), 0);
  const auto piped = shell("cat pipe.svg > heard & nascent genotype darts-v2 --draw pipe.svg; wait");
  EXPECT_TRUE(fs::is_fifo(path("pipe.svg"))) << piped.err;
  EXPECT_THAT(read_file(path("heard")), HasSubstr("<svg"));
  write_file(path("real/target.svg"), "old");
  fs::create_symlink("real/target.svg", path("link.svg"));
  ASSERT_EQ(nascent({"genotype", "darts-v2", "--draw", path("link.svg")}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link.svg")));
  EXPECT_THAT(read_file(path("real/target.svg")), HasSubstr("<svg"));
}

TEST_F(FirstHour, AFullDiskOnStandardOutputIsNoSuccess) {
  const auto result = shell("nascent space nasbench201 --enumerate > /dev/full");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("Standard output could not be written"));
  EXPECT_EQ(shell("nascent --help > /dev/full").exit_code, 1);
  EXPECT_EQ(shell("nascent search --help > /dev/full").exit_code, 1);
}

// 'search' took 8.9 GB before it said that it needs 15.9; --channels 4096 was silent for 25 s.
TEST_F(FirstHour, MemoryIsCheckedBeforeItIsTaken) {
  const auto start = std::chrono::steady_clock::now();
  expect_refused(nascent(tiny({"search", "--space", "darts"}, {"--channels", "4096", "--cells", "8"})),
                 "A step needs about");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20);
  expect_refused(nascent(tiny({"search", "--space", "nasbench201"}, {"--memory", "0.001"})), "run.memory allows 1 MB");
}

// It spun for ever: the engine's pool of addresses left none to BLAS.
TEST_F(FirstHour, ALimitOfAddressesIsHeeded) {
  std::string words;
  for (const auto& word : tiny({"search", "--space", "nasbench201", "--out", path("run")})) words += word + " ";
  const auto result = shell(fmt::format("ulimit -v 4000000; timeout 120 '{}' {}", NASCENT_PROGRAM, words));
  EXPECT_THAT(result.exit_code, testing::AnyOf(0, 2)) << result.err;
}

TEST_F(FirstHour, NoWordIsPassedOver) {
  EXPECT_THAT(nascent({"search", "help"}).out, HasSubstr("nascent search [options]"));
  expect_refused(nascent(tiny({"search", "--space", "nasbench201"}, {"foo", "bar"})), "unexpected argument 'foo bar'");
  expect_refused(nascent(tiny({"search", "gaea-darts"})), "Did you mean --recipe gaea-darts?");
  const Json trained = json_of(tiny({"train", "nasbench201:4321", "--out", path("trained")}));
  EXPECT_TRUE(trained.contains("test_top1"));
  expect_refused(nascent(tiny({"train", "darts-v2", "--genotype", "enas"})), "Two genotypes are named");
}

TEST_F(FirstHour, ResumeNoticesOtherDataAndEditedOptions) {
  write_pictures("pictures/a", 12, 8);
  write_pictures("pictures/b", 12, 8);
  ASSERT_EQ(nascent({"train", "nasbench201:4321", "--data", "image-folder", "--path", path("pictures"), "--batch", "4",
                     "--epochs", "1", "--channels", "4", "--cells", "1", "--threads", "1", "--out", path("run")})
                .exit_code,
            0);
  const std::string options = read_file(path("run/options.toml"));
  std::string edited = options;
  const size_t at = edited.find("\nlr = ");
  ASSERT_NE(at, std::string::npos);
  edited.replace(at, 6, "\nlr = 7");
  write_file(path("run/options.toml"), edited);
  expect_refused(nascent({"train", "--resume", path("run")}), "train.lr is 7");
  write_file(path("run/options.toml"), options);
  expect_refused(nascent({"train", "--resume", path("run"), "--seed", "5"}), "keeps its options and its seed");
  // Labels swapped: not a picture has changed.
  fs::rename(path("pictures/a"), path("pictures/c"));
  fs::rename(path("pictures/b"), path("pictures/a"));
  fs::rename(path("pictures/c"), path("pictures/b"));
  expect_refused(nascent({"train", "--resume", path("run")}), "are not those it began with");
  fs::rename(path("pictures/a"), path("pictures/c"));
  fs::rename(path("pictures/b"), path("pictures/a"));
  fs::rename(path("pictures/c"), path("pictures/b"));
  EXPECT_EQ(nascent({"train", "--resume", path("run")}).exit_code, 0);
}

// The curve of the test images was called "valid" where nothing is held out.
TEST_F(FirstHour, WhatIsWatchedIsCalledByItsName) {
  json_of(tiny({"train", "nasbench201:4321", "--out", path("all")}));
  EXPECT_THAT(read_file(path("all/report.html")), AllOf(HasSubstr("test top1"), Not(HasSubstr("valid top1"))));
  json_of(tiny({"train", "nasbench201:4321", "--out", path("held")}, {"--valid-fraction", "0.5"}));
  EXPECT_THAT(read_file(path("held/report.html")), HasSubstr("valid top1"));
}

// Accuracy alone does not say which classes a network knows.
TEST_F(FirstHour, JudgementGoesBeyondAccuracy) {
  json_of(tiny({"train", "nasbench201:4321", "--out", path("run")}));
  const Json judgement = Json::parse(read_file(path("run/judgement.json")));
  const Json scored = json_of({"eval", path("run"), "--details", "--page", path("page.html")});
  EXPECT_EQ(judgement.at("confusion"), scored.at("confusion"));
  EXPECT_EQ(judgement.at("calibration_error"), scored.at("calibration_error"));
  for (const std::string page : {"run/report.html", "page.html"}) {
    EXPECT_THAT(read_file(path(page)),
                AllOf(HasSubstr("Confusion matrix"), HasSubstr("Reliability"), HasSubstr("Worst mistakes"),
                      HasSubstr("predicted as"), HasSubstr("src=\"data:image/png")))
        << page;
  }
}

TEST_F(FirstHour, ScoresOfSeveralArchitecturesAreAllShown) {
  const std::vector<std::string> asked = {
      "score", "nasbench201:1462", "nasbench201:77", "--data",     "random", "--size",
      "32",    "--shape",          "3,8,8",          "--classes",  "2",      "--batch",
      "8",     "--metrics",        "params,trace",   "--channels", "4",      "--cells",
      "1",     "--cache",          "none",           "--threads",  "1"};
  const Json scores = json_of(asked).at("scores");
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_TRUE(scores[1].at("trace").is_number());
  const std::string printed = nascent(asked).out;
  for (const auto& score : scores) {
    EXPECT_THAT(printed, HasSubstr(score.at("architecture").get<std::string>()));
    EXPECT_THAT(printed, HasSubstr(fmt::format("{:.6g}", score.at("trace").get<double>())));
  }
}

TEST_F(FirstHour, TheDemoWritesIntoNoFolderOfOthers) {
  write_file(path("mine/thesis.txt"), "years of work");
  expect_refused(nascent({"demo", "--out", path("mine")}), "is not a run; refusing to write there");
}

// A slow machine is told which --scale would take minutes; the demo had none.
TEST_F(FirstHour, TheDemoCanBeMadeSmaller) {
  const std::string out = path("demo");
  json_of({"demo", "--scale", "epochs=0.3,channels=0.5,data=0.02", "--threads", "1", "--out", out});
  EXPECT_THAT(read_file(out + "/search/options.toml"), AllOf(HasSubstr("\nepochs = 1 "), HasSubstr("\nlimit = 80 ")));
  EXPECT_THAT(read_file(out + "/train/options.toml"), AllOf(HasSubstr("\nepochs = 1 "), HasSubstr("\nchannels = 4 ")));
}

// 423 624 architectures took ten lines each.
TEST_F(FirstHour, ArchitecturesStandOnePerLine) {
  const auto result = shell(
      "nascent space nasbench101 --enumerate | head -n 5; nascent space nasbench101 --sample 4; "
      "nascent space darts --sample 2 --form json");
  const std::vector<std::string> lines = split(std::string(trim(result.out)), '\n');
  EXPECT_EQ(lines.size(), 11u) << result.out;
  for (const auto& line : lines) EXPECT_NO_THROW(Json::parse(line)) << line;
}

TEST_F(FirstHour, MistakesAreToldInPlainWords) {
  write_file(path("file"), "x");
  expect_refused(nascent(tiny({"search", "--space", "nasbench201", "--out", path("file/run")})), path("file/run"));
  fs::create_symlink("loop", path("loop"));
  expect_refused(nascent({"report", path("loop")}), path("loop"));
  expect_refused(nascent(tiny({"search", "--space", "nasbench201", "--out", path("loop/run")})), "loop");
  write_pictures("odd/caf\xe9", 4, 8);
  write_pictures("odd/tea", 4, 8);
  expect_refused(nascent({"data", "image-folder", "--path", path("odd")}), "not UTF-8");
  write_file(path("big.json"), R"([{"arch": "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|", "x_test12": 1e400}])");
  expect_refused(nascent({"table", "import", path("big.json"), "--out", path("t")}), "too large");
  expect_refused(nascent(tiny({"search", "--space", "nasbench201"}, {"--size", "100000000"})), "take ");
  const auto unwritable = shell(
      "HOME=/proc/nowhere XDG_CACHE_HOME= nascent score nasbench201:1 --data random --size 16 "
      "--batch 4 --shape 3,8,8 --classes 2 --metrics params --channels 4 --cells 1");
  EXPECT_EQ(unwritable.exit_code, 0) << unwritable.err;
  EXPECT_THAT(unwritable.err, HasSubstr("Scores are not kept"));
}

TEST_F(FirstHour, ADamagedRunIsRefusedNotFatal) {
  json_of(tiny({"train", "nasbench201:4321", "--out", path("run")}));
  const Json good = Json::parse(read_file(path("run/run.json")));
  for (const char* key : {"verb", "status", "seconds", "command", "options", "facts", "started", "parts"}) {
    Json bad = good;
    bad[key] = Json::object({{"x", 1}});
    write_file(path("run/run.json"), bad.dump());
    expect_refused(nascent({"report", path("run")}), key);
  }
}

// 14 MB whose header says 250 pixels filled 7.5 GB.
TEST_F(FirstHour, ACompressedFileCannotFillTheMemory) {
  const std::string header("\0\0\x08\x03\0\0\0\x0a\0\0\0\5\0\0\0\5", 16), labels("\0\0\x08\1\0\0\0\x0a", 8);
  write_file(path("images"), header);
  write_file(path("labels"), labels + std::string(10, '\0'));
  const auto made = shell(
      "mkdir idx; (cat images; head -c 600000000 /dev/zero) | gzip -1 > idx/train-images-idx3-ubyte.gz; "
      "cp idx/train-images-idx3-ubyte.gz idx/t10k-images-idx3-ubyte.gz; "
      "cp labels idx/train-labels-idx1-ubyte; cp labels idx/t10k-labels-idx1-ubyte");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto result = shell("ulimit -v 300000; nascent data idx --path idx");
  expect_refused(result, "it should hold 266 bytes, and inflates to more");
}

TEST_F(FirstHour, QuietIsQuiet) {
  const auto quiet = nascent(tiny({"train", "nasbench201:4321", "--out", path("run")}, {"-q"}));
  EXPECT_EQ(quiet.err, "");
  // On a terminal too, where the bar is; 'script' lends one.
  const auto words = join(tiny({"train", "nasbench201:4321", "--out", path("again"), "-q"}), " ");
  if (const auto drawn = run_program({"script", "-qec", std::string(NASCENT_PROGRAM) + " " + words, "/dev/null"}, "")) {
    EXPECT_THAT(drawn->out, Not(HasSubstr("[=")));
  }
  if (const auto plain = run_program(
          {"script", "-qec", std::string("NO_COLOR=1 ") + NASCENT_PROGRAM + " report /nowhere", "/dev/null"}, "")) {
    EXPECT_THAT(plain->out, AllOf(HasSubstr("error:"), Not(HasSubstr("\033["))));
  }
}

TEST_F(FirstHour, AClosedTerminalLeavesACheckpoint) {
  auto words = tiny({"train", "nasbench201:4321", "--out", path("run")}, {"--epochs", "100000", "--size", "64"});
  EXPECT_EQ(signalled_when(words, folder_ / "run/checkpoints", 1, SIGHUP), 130) << said();
  EXPECT_FALSE(fs::is_empty(path("run/checkpoints")));
  EXPECT_EQ(Json::parse(read_file(path("run/run.json"))).at("status"), "interrupted");
}

TEST_F(FirstHour, TablesAreReadAsTheyAreMeant) {
  const std::string skip = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|",
                    none = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
  const auto import = [&](const std::string& csv) {
    write_file(path("t.csv"), csv);
    return nascent({"table", "import", path("t.csv"), "--out", path("t.table")});
  };
  const auto rows = [&](const std::string& first, const std::string& second, const std::string& value) {
    return fmt::format("index,arch,x_test12\n{},{},{}\n{},{},{}\n", first, skip, value, second, none, value);
  };
  expect_refused(import(rows("4", "4", "50")), "index 4 is that of line 2 too");
  expect_refused(import(rows("4", "-1", "50")), "index is -1");
  expect_refused(import(rows("4", "5", "0.9")), "these are fractions");
  EXPECT_EQ(import("\xef\xbb\xbf" + rows("4", "5", "50")).exit_code, 0);
  // A benchmark's own number names an architecture everywhere.
  EXPECT_THAT(nascent({"genotype", path("t.table") + "#4", "--form", "nasbench201"}).out, HasSubstr(skip));
  EXPECT_EQ(nascent({"score",      path("t.table") + "#5",
                     "--data",     "random",
                     "--size",     "16",
                     "--batch",    "4",
                     "--shape",    "3,8,8",
                     "--classes",  "2",
                     "--metrics",  "params",
                     "--channels", "4",
                     "--cells",    "1",
                     "--cache",    "none"})
                .exit_code,
            0);
  expect_refused(nascent({"genotype", path("t.table") + "#9"}), "no architecture with the benchmark's number 9");
  expect_refused(nascent({"genotype", "#9"}), "nb201.table#9");
}

TEST_F(FirstHour, ARunThatOneMayOnlyReadHasAReport) {
  json_of(tiny({"train", "nasbench201:4321", "--out", path("run")}));
  fs::permissions(folder_, fs::perms::all);
  fs::create_directories(path("here"));
  fs::permissions(path("here"), fs::perms::all);
  for (const auto& entry : fs::recursive_directory_iterator(path("run"))) {
    fs::permissions(entry.path(), entry.is_directory() ? fs::perms(0555) : fs::perms(0444));
  }
  fs::permissions(path("run"), fs::perms(0555));
  const std::string program = fmt::format("cd '{}/here' && exec '{}' report ../run", folder_.string(), NASCENT_PROGRAM);
  auto result = run_program({"setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", program}, "");
  if (::getuid() != 0) result = run_program({"sh", "-c", program}, "");
  fs::permissions(path("run"), fs::perms::owner_all);
  if (!result || result->exit_code == 126 || result->exit_code == 127) GTEST_SKIP() << "the program is not everyone's";
  EXPECT_EQ(result->exit_code, 0) << result->err;
  EXPECT_THAT(read_file(path("here/run-report.html")), HasSubstr("test top1")) << "its events are read";
}

TEST_F(FirstHour, TextsSayWhatIsWrong) {
  json_of(tiny({"train", "nasbench201:4321", "--out", path("run")}));
  expect_refused(nascent({"search", "--resume", path("run")}), "is a run of 'nascent train'");
  expect_refused(nascent({"search", "--resume", path("nothere")}), "There is no run " + path("nothere"));
  expect_refused(nascent({"search", "--epochs"}), "--epochs needs a value");
  expect_refused(nascent({"search", "--lr-min", "nan"}), "is nan");
  expect_refused(nascent(tiny({"train", "nasbench201:4321"}, {"--limit", "1"})), "There is 1 image for");
  expect_refused(nascent(tiny({"search", "--space", "nasbench201"}, {"--threads", "1000"})), "run.threads is 1000");
}

TEST_F(FirstHour, OnesOwnPicturesNeedNoPreparation) {
  write_pictures("pets/cat", 30, 20, true);
  write_pictures("pets/dog", 9, 20, true);
  write_file(path("pets/cat/movie.mp4"), "not a picture");
  const Json data = json_of({"data", "image-folder", "--path", path("pets"), "--page", path("page.html")});
  EXPECT_EQ(data.at("shape"), Json::parse("[1, 20, 20]"));
  EXPECT_EQ(data.at("train_counts"), Json::parse("[24, 7]"));
  EXPECT_EQ(data.at("test_counts"), Json::parse("[6, 2]"));
  const std::string notes = data.at("notes").dump();
  EXPECT_THAT(notes, AllOf(HasSubstr("20 % of the pictures"), HasSubstr("20 x 20"), HasSubstr("all are grey"),
                           HasSubstr("'cat' has 30"), HasSubstr("movie.mp4")));
  EXPECT_THAT(read_file(path("page.html")), AllOf(HasSubstr("data:image/png"), HasSubstr("cat")));
  const std::vector<std::string> words = {
      "train", "nasbench201:4321", "--data", "image-folder", "--path", path("pets"), "--batch", "4",     "--epochs",
      "1",     "--channels",       "4",      "--cells",      "1",      "--threads",  "1",       "--out", path("run")};
  const Json trained = json_of(words);
  EXPECT_EQ(json_of({"eval", path("run")}).at("top1"), trained.at("test_top1"));
  // All that cannot be read is named at once, before anything is trained.
  for (const char* name : {"cat/3", "cat/17", "dog/5"}) write_file(path(fmt::format("pets/{}.png", name)), "broken");
  const auto refused = nascent({"data", "image-folder", "--path", path("pets")});
  expect_refused(refused, "3 of 39 images cannot be read");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cat/3"), HasSubstr("cat/17"), HasSubstr("dog/5")));
}

TEST_F(FirstHour, ArraysOfNumPyAreRead) {
  const auto npy = [](const std::string& type, const std::string& shape, const std::string& bytes) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
    header.resize(117, ' ');
    header += '\n';
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + bytes;
  };
  std::string pixels, labels;
  for (int i = 0; i < 20 * 3 * 8 * 8; ++i) pixels += static_cast<char>(i * 37 % 251);
  for (int i = 0; i < 20; ++i) labels += std::string(1, static_cast<char>(i % 2)) + std::string(7, '\0');
  write_file(path("arrays/x.npy"), npy("|u1", "20, 3, 8, 8", pixels));
  write_file(path("arrays/y.npy"), npy("<i8", "20,", labels));
  const Json data = json_of({"data", "npy", "--path", path("arrays")});
  EXPECT_EQ(data.at("shape"), Json::parse("[3, 8, 8]"));
  EXPECT_EQ(data.at("test"), 4);
  EXPECT_EQ(data.at("classes").size(), 2u);
  write_file(path("arrays/x.npy"), npy("|u1", "20, 8, 8, 3", pixels));
  expect_refused(nascent({"data", "npy", "--path", path("arrays")}), "numpy.transpose");
}

TEST_F(FirstHour, ResultsCarryWhatOneAsksFirst) {
  const Json found = json_of({"search",   "--recipe",   "random",     "--space",       "nasbench201", "--judge",
                              "training", "--budget",   "0",          "--validations", "2",           "--judge-epochs",
                              "1",        "--cache",    "none",       "--data",        "random",      "--size",
                              "32",       "--shape",    "3,8,8",      "--classes",     "2",           "--batch",
                              "8",        "--channels", "4",          "--cells",       "1",           "--threads",
                              "1",        "--out",      path("found")});
  for (const Json& result : {found, Json::parse(read_file(path("found/result.json")))}) {
    EXPECT_EQ(result.at("recipe"), "random");
    EXPECT_EQ(result.at("seed"), 1);
    EXPECT_GT(result.at("seconds").get<double>(), 0);
    EXPECT_TRUE(result.at("valid_top1").is_number());
    EXPECT_THAT(result.at("genotype_text").get<std::string>(), HasSubstr("~0|+|"));
  }
}

// There were empty columns, no rank, regret or mean, and the folder's genotype was seed 1's, unsaid.
TEST_F(FirstHour, SeveralSeedsSayWhereTheyStandAndWhichWasChosen) {
  std::string csv = "arch,random_valid12,random_test12\n";
  for (int code = 0; code < 64; ++code) {
    const auto op = [&](int edge) { return (code >> edge & 1) != 0 ? "nor_conv_1x1" : "skip_connect"; };
    csv += fmt::format("|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|,{},{}\n", op(0), op(1), op(2), op(3), op(4), op(5),
                       40 + 0.1 * code, 50 + 0.1 * code);
  }
  write_file(path("t.csv"), csv);
  json_of({"table", "import", path("t.csv"), "--out", path("t.table")});
  const auto words = tiny({"search", "--space", "nasbench201", "--exclude", "none,nor_conv_3x3,avg_pool_3x3", "--seeds",
                           "2", "--table", path("t.table"), "--out", path("run")});
  const auto printed = nascent(words);
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out, AllOf(HasSubstr("regret"), HasSubstr("mean  random"), HasSubstr("Chosen: candidate 1, by"),
                                 Not(HasSubstr("short training")), Not(HasSubstr("test accuracy"))));
  const Json result = Json::parse(read_file(path("run/result.json")));
  EXPECT_TRUE(result.at("stages").at("table").at("random").at("regret").at("mean").is_number());
  EXPECT_EQ(result.at("stages").at("searches")[1].at("table").at("random").at("of"), 64);
}

}  // namespace
}  // namespace nascent
