// Runs on several ranks, as users start them: the same bytes as in one process, whatever happens to a rank.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "cli/program.h"
#include "mpirun.h"
#include "nascent/core/text.h"
#include "nascent/data/image_file.h"
#include "nascent/space/space.h"
#include "nascent/table/table_builder.h"

namespace nascent {
namespace {

using testing::HasSubstr;

class ProgramOnRanks : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
#ifndef NASCENT_HAS_MPI
    GTEST_SKIP() << "built without MPI";
#endif
    NASCENT_SKIP_WITHOUT_MPIRUN();
  }

  MpiRun::Output ranks(
      int count, std::vector<std::string> words, const std::function<void(pid_t)>& meanwhile = [](pid_t) {}) const {
    words.insert(words.begin(), NASCENT_PROGRAM);
    return MpiRun(folder_).run(count, words, meanwhile);
  }

  // To success, on so many ranks; one is the program started plainly.
  void run_on(int count, const std::vector<std::string>& words) const {
    if (count == 1) {
      const ProgramOutput output = nascent(words);
      ASSERT_EQ(output.exit_code, 0) << output.err;
    } else {
      const MpiRun::Output output = ranks(count, words);
      ASSERT_EQ(output.exit_code, 0) << output.err;
    }
  }

  void expect_error(int count, const std::vector<std::string>& words, const std::string& text) const {
    expect_refused(ranks(count, words), text);
  }
  // Said once, by exit code 2 of mpirun, which is that of all ranks, and soon.
  static void expect_refused(const MpiRun::Output& output, const std::string& text) {
    EXPECT_EQ(output.exit_code, 2) << output.err;
    EXPECT_THAT(output.err, HasSubstr(text));
    EXPECT_EQ(output.err.find("error: "), output.err.rfind("error: ")) << output.err;
    EXPECT_LT(output.seconds, 30);
  }

  // The same command on two ranks that have a folder each: where a path is relative, files of their own.
  MpiRun::Output in_folders(const std::vector<std::string>& words) const {
    std::vector<std::string> all;
    for (const char* folder : {"here", "there"}) {
      std::filesystem::create_directories(folder_ / folder);
      if (!all.empty()) all.emplace_back(":");
      all = with(with(all, {"-n", "1", "env", "-C", path(folder), NASCENT_PROGRAM}), words);
    }
    return MpiRun(folder_).run(0, all);
  }
  // Two classes of noise.
  void write_pictures(const std::string& folder, uint64_t seed) const {
    RandomStream random(seed, "pictures");
    for (const char* label : {"a", "b"}) {
      for (int i = 0; i < 16; ++i) {
        Image image;
        image.reshape({3, 8, 8});
        for (uint8_t& byte : image.pixels) byte = static_cast<uint8_t>(random.below(256));
        write_file(path(fmt::format("{}/{}/{}.png", folder, label, i)), encode_png(image));
      }
    }
  }

  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // A tiny data set and network.
  static std::vector<std::string> tiny(const std::vector<std::string>& verb) {
    return with(verb, {"--data", "random", "--size", "64", "--shape", "3,12,12", "--classes", "4", "--batch", "8",
                       "--channels", "3", "--cells", "1", "--threads", "1"});
  }

  std::vector<std::string> score(const std::string& name, int sample) const {
    return with(tiny({"score"}), {"--cache", path(name), "--csv", path(name + ".csv"), "--sample",
                                  std::to_string(sample), "--metrics", "snip,params"});
  }

  // The only file of a folder with this end of its name.
  std::string file_in(const std::string& folder, const std::string& end) const {
    for (const auto& entry : std::filesystem::directory_iterator(path(folder))) {
      if (entry.path().string().ends_with(end)) return read_file(entry.path());
    }
    return "no " + end;
  }

  // Architectures that are kept so far, in the cache or ahead of their turn.
  size_t lines_in(const std::string& folder) const {
    std::set<std::string> lines;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(path(folder), none)) {
      const std::string name = entry.path().string();
      if (!name.ends_with(".scores") && !name.ends_with(".ahead")) continue;
      try {
        for (auto& line : split(read_file(name), '\n')) lines.insert(std::move(line));
      } catch (const std::exception&) {  // gone meanwhile
      }
    }
    return lines.size();
  }

  // What a run and its parts leave for good, by name: results, genotypes, models.
  std::map<std::string, std::string> kept(const std::string& run) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(run))) {
      const std::string name = entry.path().filename();
      if (name != "result.json" && name != "genotype.json" && name != "model.nascent") continue;
      std::string text = read_file(entry.path());
      if (name == "result.json") text = without_times(Json::parse(text)).dump();
      files[std::filesystem::relative(entry.path(), path(run)).string()] = text;
    }
    return files;
  }

  // Starts a run and has `strike` at it again and again, each time after something new was kept and a moment more, and
  // resumes it, on other numbers of ranks up to `most`, until it is done; returns how often it was stopped.
  int struck(const std::vector<std::string>& start, const std::string& out,
             const std::function<void(const std::vector<pid_t>& ranks)>& strike, int strikes, int most = 4) const {
    RandomStream random(7, "strike " + out);
    int stopped = 0;
    for (int attempt = 0; attempt < 3 * strikes + 3; ++attempt) {
      const bool begun = std::filesystem::exists(folder_ / out / "run.json");
      const auto before = kept_files(folder_ / out);
      const int count = begun ? 1 + static_cast<int>(random.below(most)) : most;
      const auto moment = std::chrono::milliseconds(random.below(40));
      const MpiRun::Output output = ranks(count, begun ? resumed(start, out) : start, [&](pid_t mpirun) {
        while (!MpiRun::has_ended(mpirun) && kept_files(folder_ / out) == before) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::this_thread::sleep_for(moment);
        if (stopped < strikes) strike(MpiRun::ranks_of(mpirun));
      });
      if (output.exit_code == 0) {
        RecordProperty("stopped", stopped);  // in --gtest_output=xml
        return stopped;
      }
      EXPECT_TRUE(output.exit_code == 137 || output.exit_code == 130) << output.exit_code << ": " << output.err;
      ++stopped;
    }
    ADD_FAILURE() << out << " does not come to an end";
    return stopped;
  }

  // How often a run is stopped: a few times, or as the variable says.
  static int strikes(int usual) {
    const char* wanted = std::getenv("NASCENT_STRIKES");
    return wanted == nullptr ? usual : std::max(1, std::atoi(wanted));
  }

  // Kills one of the ranks, whichever.
  static auto killing(RandomStream& random) {
    return [&random](const std::vector<pid_t>& ranks) {
      if (!ranks.empty()) kill(ranks[random.below(static_cast<int64_t>(ranks.size()))], SIGKILL);
    };
  }

  // How long it took is not the same twice.
  static Json without_times(Json json) {
    if (!json.is_structured()) return json;
    if (json.is_object()) {
      for (const char* key : {"seconds", "validation_seconds", "search"}) json.erase(key);
    }
    for (auto& entry : json) entry = without_times(entry);
    return json;
  }
};

TEST_F(ProgramOnRanks, ScoresAreTheSameBytesOnAnyNumber) {
  for (const int count : {1, 2, 3}) run_on(count, score(std::to_string(count), 60));
  for (const char* other : {"2", "3"}) {
    EXPECT_EQ(file_in(other, ".scores"), file_in("1", ".scores"));
    EXPECT_EQ(read_file(path(std::string(other) + ".csv")), read_file(path("1.csv")));
    EXPECT_EQ(file_in(other, ".ahead"), "no .ahead") << "all have had their turn";
    EXPECT_THAT(file_in(other, ".rank-1.log"), HasSubstr("Rank 1 of"));
  }
}

// Rank 0 made the list, and sent each rank a text of a kilobyte per row.
TEST_F(ProgramOnRanks, ArchitecturesOfATableAreReadByEachRank) {
  const auto write_table = [&](const std::string& name, uint64_t seed) {
    TableBuilder builder(find_space("darts"), "made up");
    RandomStream random(seed, "table");
    for (int i = 0; i < 12; ++i) {
      builder.set(builder.add(builder.space().sample(random), -1), parse_measure("toy_test12"), 50 + i);
    }
    builder.write(path(name));
  };
  for (const char* folder : {"here", "there"}) std::filesystem::create_directories(path(folder));
  write_table("here/a.table", 1);
  const auto words = [&](const std::string& table, const std::string& csv) {
    return with(tiny({"score"}), {"--against", table, "--measure", "toy_test12", "--metrics", "snip,params", "--cache",
                                  "none", "--csv", path(csv)});
  };
  run_on(1, words(path("here/a.table"), "1.csv"));
  run_on(2, words(path("here/a.table"), "2.csv"));
  EXPECT_EQ(read_file(path("1.csv")), read_file(path("2.csv")));
  EXPECT_EQ(split(read_file(path("1.csv")), '\n').size(), 14u) << "header, 12 rows and the end";
  write_table("there/a.table", 2);
  expect_refused(in_folders(words("a.table", "3.csv")), "the data there are not those of rank 0");
}

TEST_F(ProgramOnRanks, AKilledRankCostsNoMoreThanWhatWasInFlight) {
  constexpr int kPieces = 700, kMoments = 20;
  run_on(1, score("whole", kPieces));
  RandomStream random(19, "kill");
  int killed = 0;
  for (bool done = false; !done && killed < 3 * kMoments;) {
    // The last moments are left to run to the end. Counted by work: no machine is too slow or too fast for this.
    const size_t until = lines_in("killed") + 1 + random.below(kPieces / kMoments);
    const int count = 2 + static_cast<int>(random.below(2));
    const MpiRun::Output output = ranks(count, score("killed", kPieces), [&](pid_t mpirun) {
      while (!MpiRun::has_ended(mpirun) && lines_in("killed") < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random.below(10)));
      const auto running = MpiRun::ranks_of(mpirun);
      if (killed < kMoments && !running.empty()) kill(running[random.below(running.size())], SIGKILL);
    });
    done = output.exit_code == 0;
    if (!done) ++killed;
    EXPECT_TRUE(done || output.exit_code == 137) << output.exit_code << ": " << output.err;
  }
  RecordProperty("stopped", killed);
  EXPECT_GE(killed, kMoments / 2);
  EXPECT_EQ(file_in("killed", ".scores"), file_in("whole", ".scores"));
  EXPECT_EQ(read_file(path("killed.csv")), read_file(path("whole.csv")));
}

TEST_F(ProgramOnRanks, SignalsStopAllWithWhatIsDoneKept) {
  run_on(1, score("whole", 400));
  // To one rank, whichever, and to all by way of mpirun.
  for (const bool all : {false, true}) {
    const size_t before = lines_in("stopped");
    const MpiRun::Output output = ranks(2, score("stopped", 400), [&](pid_t mpirun) {
      while (!MpiRun::has_ended(mpirun) && lines_in("stopped") < before + 20) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      const auto running = MpiRun::ranks_of(mpirun);
      if (!running.empty()) kill(all ? mpirun : running.back(), all ? SIGUSR1 : SIGTERM);
    });
    EXPECT_EQ(output.exit_code, 130) << output.err;
    EXPECT_THAT(output.err, HasSubstr("Run the same command again to resume"));
    EXPECT_GE(lines_in("stopped"), before + 20);
  }
  run_on(2, score("stopped", 400));
  EXPECT_EQ(file_in("stopped", ".scores"), file_in("whole", ".scores"));
}

TEST_F(ProgramOnRanks, MistakesAreSaidOnceAndEndAllRanks) {
  expect_error(3, score("few", 2), "There are 3 ranks but only 2 architectures");
  expect_error(2, tiny({"train", "darts-v2"}), "One training or search is spread over processes by --shards N");
  expect_error(3, with(tiny({"train", "darts-v2"}), {"--shards", "2"}),
               "There are 3 ranks but only 2 shards of a batch (--shards)");
  expect_error(2, with(tiny({"search"}), {"--shards", "3"}), "--shards 3: a batch of 8 images cannot be cut");
  expect_error(2, with(tiny({"search"}), {"--shards", "2", "--sample-per-shard"}), "--sample-per-shard");
  expect_error(2, with(tiny({"search"}), {"--method", "rea", "--shards", "2"}),
               "search.shards is not an option of the method 'rea'");
  expect_error(2, {"space", "darts"}, "nascent space works in one process");
  expect_error(2, with(score("bad", 5), {"--metrics", "snap"}), "Did you mean 'snip'");
}

TEST_F(ProgramOnRanks, OnesThatWereNotAskedForTheSameAreRefused) {
  std::vector<std::string> words;
  for (const char* batch : {"8", "4"}) {
    if (!words.empty()) words.emplace_back(":");
    words = with(with(words, {"-n", "1", NASCENT_PROGRAM}), with(score("two", 5), {"--batch", batch}));
  }
  const MpiRun::Output output = MpiRun(folder_).run(0, words);
  expect_refused(output, "The ranks disagree");
  EXPECT_THAT(output.err, HasSubstr("options.data.batch is 4 there and 8 on rank 0"));
  EXPECT_FALSE(std::filesystem::exists(path("two"))) << "nothing was computed";
  words = with({"-n", "1", NASCENT_PROGRAM}, score("two", 5));
  const std::vector<std::string> alone = words;
  // A CPU of another kind would make other bytes.
  words = with(with(words, {":", "-n", "1", "env", "NASCENT_ISA=scalar", NASCENT_PROGRAM}), score("two", 5));
  const MpiRun::Output unlike = MpiRun(folder_).run(0, words);
  expect_refused(unlike, "arithmetic is");
  EXPECT_THAT(unlike.err, HasSubstr("kernels for scalar\" there"));
  words = with(alone, {":", "-n", "1", NASCENT_PROGRAM, "score", "--help"});
  expect_refused(MpiRun(folder_).run(0, words), "it was asked for something else and has ended");
}

// A farm, and a team: rank 1 has no images, or others.
TEST_F(ProgramOnRanks, OneWithoutTheDataIsRefused) {
  const std::vector<std::string> images = {
      "--data", "image-folder", "--path", "pictures",  "--batch", "8", "--channels",
      "3",      "--cells",      "1",      "--threads", "1"};
  const auto scored = with({"score", "--space", "nasbench201", "--sample", "6", "--cache", "none"}, images);
  const auto trained = with({"train", "nasbench201:77", "--shards", "2", "--epochs", "1"}, images);
  write_pictures("here/pictures", 1);
  for (const auto& words : {scored, trained}) expect_refused(in_folders(words), "Rank 1 (");
  write_pictures("there/pictures", 2);
  for (const auto& words : {scored, trained}) {
    expect_refused(in_folders(words), "the data there are not those of rank 0");
  }
}

TEST_F(ProgramOnRanks, SearchesOfSeveralSeedsAndTheirStages) {
  const auto words = [&](const std::string& out) {
    return with(tiny({"search"}),
                {"--recipe", "darts-1st", "--space", "nasbench201", "--epochs", "1", "--seeds", "3", "--stage2-epochs",
                 "1", "--stage2-keep", "1", "--stage3-seeds", "2", "--retrain-set",
                 "train.epochs=1,data.batch=8,network.channels=4,network.cells=1", "--out", path(out)});
  };
  run_on(1, words("one"));
  run_on(2, words("two"));
  const auto one = kept("one"), two = kept("two");
  EXPECT_GE(one.size(), 12u);
  EXPECT_EQ(one, two);
  EXPECT_THAT(read_file(path("two/rank-1.log")), HasSubstr("pieces of work done"));
}

TEST_F(ProgramOnRanks, SearchesOfAKilledRankGoOnFromTheirCheckpoints) {
  const auto words = [&](const std::string& out) {
    return with(tiny({"search"}), {"--recipe", "darts-1st", "--space", "nasbench201", "--epochs", "6", "--seeds", "3",
                                   "--checkpoint-steps", "1", "--out", path(out)});
  };
  run_on(1, words("whole"));
  RandomStream random(5, "victim");
  EXPECT_GE(struck(words("killed"), "killed", killing(random), strikes(4), 3), strikes(4) / 2);
  EXPECT_EQ(kept("whole"), kept("killed"));
}

TEST_F(ProgramOnRanks, StrategiesDependOnHowManyAreInFlightAlone) {
  const auto words = [&](const std::string& out, int in_flight) {
    return with(tiny({"search"}), {"--method",
                                   "rea",
                                   "--judge",
                                   "training",
                                   "--judge-epochs",
                                   "1",
                                   "--valid-fraction",
                                   "0.5",
                                   "--space",
                                   "nasbench201",
                                   "--validations",
                                   "8",
                                   "--population",
                                   "3",
                                   "--in-flight",
                                   std::to_string(in_flight),
                                   "--cache",
                                   path("cache-" + out),
                                   "--out",
                                   path(out)});
  };
  const auto trials = [&](const std::string& out) {
    std::vector<std::pair<std::string, double>> all;
    const Json result = Json::parse(read_file(path(out + "/result.json")));
    for (const Json& trial : result.at("trials")) {
      all.emplace_back(trial.at("architecture").get<std::string>(), trial.at("valid").get<double>());
    }
    return all;
  };
  run_on(1, words("one", 3));
  run_on(2, words("two", 3));
  run_on(1, words("sequence", 1));
  EXPECT_EQ(trials("one").size(), 8u);
  EXPECT_EQ(trials("one"), trials("two"));
  EXPECT_NE(trials("one"), trials("sequence"));
  expect_error(2, words("few", 1), "2 ranks but only 1 proposals judged at once (--in-flight)");
}

// The cache is that of one process, also after kills: every score once, in the order of the proposals.
TEST_F(ProgramOnRanks, JudgementsByAMetricAreCachedInTheirOrder) {
  const auto words = [&](const std::string& out, int validations) {
    return with(tiny({"search"}), {"--method", "rea", "--judge", "metric", "--judge-metric", "snip", "--space",
                                   "nasbench201", "--validations", std::to_string(validations), "--population", "10",
                                   "--in-flight", "3", "--cache", path("cache-" + out), "--out", path(out)});
  };
  run_on(1, words("1", 40));
  for (const int count : {2, 3}) {
    const std::string out = std::to_string(count);
    run_on(count, words(out, 40));
    EXPECT_EQ(file_in("cache-" + out, ".scores"), file_in("cache-1", ".scores"));
    EXPECT_EQ(file_in("cache-" + out, ".ahead"), "no .ahead");
    EXPECT_EQ(kept(out), kept("1"));
  }
  constexpr int kMany = 300;
  run_on(1, words("whole", kMany));
  RandomStream random(13, "victim");
  int killed = 0;
  for (bool done = false; !done && killed < 20;) {
    const bool begun = std::filesystem::exists(path("killed/run.json"));
    const size_t until = lines_in("cache-killed") + 1 + random.below(kMany / 4);
    const auto start = begun ? std::vector<std::string>{"search", "--resume", path("killed")} : words("killed", kMany);
    const MpiRun::Output output = ranks(3, start, [&](pid_t mpirun) {
      while (!MpiRun::has_ended(mpirun) && lines_in("cache-killed") < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      const auto running = MpiRun::ranks_of(mpirun);
      if (killed < 3 && !running.empty()) kill(running[random.below(running.size())], SIGKILL);
    });
    done = output.exit_code == 0;
    if (!done) ++killed;
    EXPECT_TRUE(done || output.exit_code == 137) << output.exit_code << ": " << output.err;
  }
  RecordProperty("stopped", killed);
  EXPECT_GE(killed, 1);
  EXPECT_EQ(file_in("cache-killed", ".scores"), file_in("cache-whole", ".scores"));
  EXPECT_EQ(kept("killed"), kept("whole"));
}

TEST_F(ProgramOnRanks, VariantsOfACellAreTrainedSideBySide) {
  const auto words = [&](const std::string& out) {
    return with(tiny({"analyze", "convergence", "darts-v2"}),
                {"--connections", "1", "--epochs", "1", "--seeds", "1", "--out", path(out)});
  };
  run_on(1, words("one"));
  run_on(2, words("two"));
  EXPECT_EQ(kept("one"), kept("two"));
  EXPECT_GE(kept("one").size(), 4u);
  EXPECT_THAT(read_file(path("two/rank-1.log")), HasSubstr("Part darts-v2"));
}

// A model to attack and to look around: what matters is that it is a real one.
class ModelOnRanks : public ProgramOnRanks {
 protected:
  std::string trained(const std::string& name, const std::string& seed = "1") const {
    run_on(1, with(tiny({"train", "--genotype", "nasbench201:77"}),
                   {"--epochs", "2", "--seed", seed, "--out", path(name)}));
    return path(name);
  }
  // Batches of 4 of 30 images: the last is a smaller one.
  std::vector<std::string> attack(const std::vector<std::string>& models, const std::string& out,
                                  const std::vector<std::string>& more) const {
    return with(
        with(with({"attack"}, models), {"--data", "random", "--size", "64", "--shape", "3,12,12", "--classes", "4",
                                        "--batch", "4", "--images", "30", "--threads", "1", "--out", path(out)}),
        more);
  }

  // Figures, pictures and images too.
  std::map<std::string, std::string> files_of(const std::string& run) const {
    auto files = kept(run);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(run))) {
      const std::string name = std::filesystem::relative(entry.path(), path(run)).string();
      if (name.starts_with("checkpoints")) continue;  // the one before the last may hold what is ahead of its turn
      if (name.ends_with(".csv") || name.ends_with(".png") || name.ends_with(".nascent")) {
        files[name] = read_file(entry.path());
      }
    }
    return files;
  }

  void expect_same(const std::string& one, const std::string& other, size_t least) const {
    const auto a = files_of(one), b = files_of(other);
    EXPECT_GE(a.size(), least) << one;
    EXPECT_EQ(a.size(), b.size()) << other;
    for (const auto& [name, bytes] : a) EXPECT_TRUE(b.contains(name) && b.at(name) == bytes) << other << ": " << name;
  }
};

TEST_F(ModelOnRanks, BatchesAreAttackedSideBySide) {
  const std::vector<std::string> models = {trained("a"), trained("b", "2")};
  const auto words = [&](const std::string& out) {
    return attack(models, out,
                  {"--attack", "autoattack", "--steps", "3", "--queries", "20", "--eps", "2/255,8/255", "--rounds",
                   "--keep", "10"});
  };
  run_on(1, words("1"));
  for (const int count : {2, 3}) {
    const std::string out = std::to_string(count);
    run_on(count, words(out));
    expect_same("1", out, 5);
    EXPECT_THAT(read_file(path(out + "/rank-1.log")), HasSubstr("pieces of work done"));
  }
}

TEST_F(ModelOnRanks, AnAttackGoesOnWhereverARankWasKilled) {
  const std::vector<std::string> models = {trained("a")};
  const auto words = [&](const std::string& out) {
    return attack(
        models, out,
        {"--attack", "square", "--queries", "200", "--eps", "1/255,2/255,4/255,8/255", "--checkpoint-steps", "1"});
  };
  run_on(1, words("whole"));
  RandomStream random(11, "victim");
  EXPECT_GE(struck(words("killed"), "killed", killing(random), strikes(4), 3), strikes(4) / 2);
  expect_same("whole", "killed", 4);
}

TEST_F(ModelOnRanks, PointsOfALandscapeAreComputedSideBySide) {
  const std::string model = trained("a");
  const std::vector<std::pair<std::string, std::vector<std::string>>> analyses = {
      {"landscape",
       {"--points", "4", "--directions", "2", "--norms", "recalibrated", "--calibration", "16", "--curvature-points",
        "2", "--curvature", "--top", "1", "--lanczos-steps", "4", "--trace-probes", "2", "--curvature-images", "16"}},
      {"variance", {"--points", "3"}}};
  for (const auto& [verb, more] : analyses) {
    const auto words = [&](const std::string& out) {
      return with({"analyze", verb, model, "--threads", "1", "--images", "32", "--out", path(out)}, more);
    };
    run_on(1, words(verb + "-1"));
    for (const int count : {2, 3}) {
      const std::string out = fmt::format("{}-{}", verb, count);
      run_on(count, words(out));
      expect_same(verb + "-1", out, 3);
      EXPECT_THAT(read_file(path(out + "/rank-1.log")), HasSubstr("pieces of work done"));
    }
  }
}

TEST_F(ModelOnRanks, MistakesEndAllRanks) {
  trained("here/a");
  const std::string model = path("here/a");
  expect_error(3, attack({model}, "few", {"--attack", "fgsm", "--images", "4"}),
               "There are 3 ranks but only 2 batches of images");
  expect_error(2, attack({model}, "bad", {"--attack", "pgg"}), "Did you mean 'pgd'");
  expect_error(2, {"analyze", "landscape", model, "--points", "1"}, "at least 2 points");
  // A rank that does not have the model, and one that has another.
  const std::vector<std::vector<std::string>> commands = {
      attack({"a"}, "apart", {}),
      {"analyze", "landscape", "a", "--points", "3", "--images", "8", "--out", "../apart-2"}};
  for (const auto& words : commands) expect_refused(in_folders(words), "Rank 1 (");
  trained("there/a", "2");
  for (const auto& words : commands) {
    expect_refused(in_folders(with(words, {"--overwrite"})), "the data there are not those of rank 0");
  }
}

// Members differ by their seeds, and share the images that the ensemble's seed has chosen.
TEST_F(ProgramOnRanks, MembersOfAnEnsembleAreTrainedSideBySide) {
  run_on(1,
         with(tiny({"ensemble", "search"}), {"--recipe", "urs", "--space", "nasbench201", "--epochs", "1", "--members",
                                             "3", "--rounds", "1", "--channels", "4", "--out", path("search")}));
  const auto words = [&](const std::string& out) {
    return with(tiny({"ensemble", "train", path("search")}),
                {"--epochs", "1", "--limit", "32", "--seed", "5", "--out", path(out)});
  };
  run_on(1, words("one"));
  run_on(2, words("two"));
  EXPECT_EQ(kept("one"), kept("two"));
  EXPECT_GE(kept("one").size(), 7u);
  EXPECT_TRUE(read_file(path("one/ensemble.nascent")) == read_file(path("two/ensemble.nascent")));
  EXPECT_THAT(read_file(path("two/rank-1.log")), HasSubstr("Part member-"));
}

TEST_F(ProgramOnRanks, SearchesByDifferentRecipesAreTheSameOnTwo) {
  const auto words = [&](const std::string& out) {
    return with(tiny({"search"}), {"--recipes", "darts-1st,gdas", "--space", "nasbench201", "--epochs", "1", "--seeds",
                                   "2", "--out", path(out)});
  };
  run_on(1, words("one"));
  run_on(2, words("two"));
  EXPECT_EQ(kept("one"), kept("two"));
  EXPECT_GE(kept("one").size(), 8u);
}

// One run on all ranks: what a run leaves, and its last checkpoint.
class DataParallel : public ProgramOnRanks {
 protected:
  static std::vector<std::string> trained(const std::string& out) {
    return with(tiny({"train", "--genotype", "nasbench201:77"}),
                {"--epochs", "2", "--valid-fraction", "0.25", "--drop-path", "0.2", "--ema", "0.9", "--out", out});
  }
  static std::vector<std::string> searched(const std::string& recipe, const std::string& out) {
    return with(tiny({"search"}), {"--recipe", recipe, "--space", "nasbench201", "--epochs", "2", "--drop-path", "0",
                                   "--partial", "1", "--no-auxiliary", "--out", out});
  }

  // Everything that must not depend on the ranks, by name.
  std::map<std::string, std::string> left(const std::string& run) const {
    auto files = kept(run);
    const auto folder = std::filesystem::path(path(run));
    if (std::filesystem::exists(folder / "best.nascent")) files["best"] = read_file(folder / "best.nascent");
    for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints")) {
      files[entry.path().filename()] = read_file(entry.path());
    }
    return files;
  }

  // Not by EXPECT_EQ of the whole, which would print models.
  void expect_same(const std::string& one, const std::string& other) const {
    const auto a = left(one), b = left(other);
    EXPECT_GE(a.size(), 3u) << one;
    EXPECT_EQ(a.size(), b.size()) << other;
    for (const auto& [name, bytes] : a) EXPECT_TRUE(b.contains(name) && b.at(name) == bytes) << other << ": " << name;
  }

  // On one rank and on others, into folders named after how many.
  void expect_same_on(const std::function<std::vector<std::string>(const std::string& out)>& words,
                      const std::string& name, int shards, const std::vector<int>& ranks) const {
    const std::vector<std::string> cut = {"--shards", std::to_string(shards)};
    run_on(1, with(words(path(name + "1")), cut));
    for (const int count : ranks) {
      const std::string out = name + std::to_string(count);
      run_on(count, with(words(path(out)), cut));
      expect_same(name + "1", out);
    }
  }
};

TEST_F(DataParallel, ATrainingIsTheSameBytesOnAnyNumberOfRanks) {
  expect_same_on(trained, "two-", 2, {2});
  expect_same_on(trained, "four-", 4, {2, 3, 4});
  EXPECT_NE(left("two-1"), left("four-1")) << "the shards decide";
  EXPECT_THAT(read_file(path("four-4/rank-3.log")), HasSubstr("exchanges"));
}

TEST_F(DataParallel, SearchesAreTheSameBytesOnAnyNumberOfRanks) {
  for (const std::string recipe : {"darts-1st", "gdas", "gaea-darts", "enas"}) {
    expect_same_on([&](const std::string& out) { return searched(recipe, out); }, recipe + "-", 4, {2, 4});
  }
  for (const std::string recipe : {"darts-2nd", "amended-darts-s1", "xnas"}) {
    expect_same_on([&](const std::string& out) { return searched(recipe, out); }, recipe + "-", 2, {2});
  }
  const auto sampled = [&](const std::string& out) { return with(searched("gdas", out), {"--sample-per-shard"}); };
  expect_same_on(sampled, "sampled-", 4, {3});
  EXPECT_NE(left("sampled-1"), left("gdas-1"));
}

TEST_F(DataParallel, AKilledRankCostsTheStepsSinceTheLastCheckpoint) {
  const auto words = [&](const std::string& out) {
    return with(searched("darts-1st", path(out)), {"--shards", "4", "--epochs", "20", "--checkpoint-steps", "1"});
  };
  run_on(1, words("whole"));
  RandomStream random(3, "victim");
  EXPECT_GE(struck(words("killed"), "killed", killing(random), strikes(5)), strikes(5) / 2);
  expect_same("whole", "killed");
}

TEST_F(DataParallel, ASignalStopsAllAndTheRunGoesOnAlone) {
  const auto words = [&](const std::string& out) {
    return with(tiny({"train", "--genotype", "nasbench201:77"}),
                {"--epochs", "40", "--shards", "4", "--out", path(out)});
  };
  run_on(1, words("whole"));
  const int stopped = struck(
      words("stopped"), "stopped",
      [](const std::vector<pid_t>& ranks) {
        if (!ranks.empty()) kill(ranks.back(), SIGTERM);
      },
      1);
  EXPECT_EQ(stopped, 1);
  expect_same("whole", "stopped");
}

// A whole one, under the name that belongs to these settings; and a damaged one.
TEST_F(ProgramOnRanks, ACacheOfOtherSettingsIsRefused) {
  run_on(1, score("cache", 3));
  run_on(1, with(score("other", 3), {"--seed", "2"}));
  const auto scores_in = [&](const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(path(folder))) {
      if (entry.path().extension() == ".scores") return entry.path();
    }
    return std::filesystem::path();
  };
  ASSERT_NE(scores_in("cache").filename(), scores_in("other").filename());
  const std::string other = read_file(scores_in("other"));
  for (const std::string& text : {other, std::string("damaged\n")}) {
    write_file(scores_in("cache"), text);
    expect_error(2, score("cache", 5), "is not a file of scores for these settings");
    EXPECT_EQ(read_file(scores_in("cache")), text) << "nothing is written into it";
  }
}

}  // namespace
}  // namespace nascent
