#include "nascent/score/scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>

#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/nn/threads.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::Sample;

class ScorerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        fmt::format("nascent-score-{}-{}", ::getpid(), testing::UnitTest::GetInstance()->current_test_info()->name());
    options_.cache = folder_.string();
    options_.metrics = {"trace", "kappa", "grasp"};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ScorerSetup setup() const {
    return {.space = sample_.space,
            .network = sample_.size,
            .images = sample_.batch(8),
            .batch = 6,
            .classes = 4,
            .seed = 1};
  }
  static std::vector<Genotype> some(int count) {
    std::vector<Genotype> genotypes;
    for (int i = 0; i < count; ++i) genotypes.push_back(find_genotype(fmt::format("nasbench201:{}", 977 * i + 40)));
    return genotypes;
  }

  Sample sample_{"nasbench201:0"};
  ScoreOptions options_;
  std::filesystem::path folder_;
};

TEST_F(ScorerTest, ScoresAreKeptAndSharedByLaterScorers) {
  const auto genotypes = some(5);
  ScoreColumns first;
  {
    Scorer scorer(setup(), options_);
    first = score_all(scorer, genotypes, 2);
    EXPECT_FALSE(scorer.knows(some(6).back()));
  }
  Scorer later(setup(), options_);
  for (size_t i = 0; i < genotypes.size(); ++i) {
    EXPECT_TRUE(later.knows(genotypes[i]));
    EXPECT_EQ(later.scores(genotypes[i]), first[i]);
  }
  // Another metric of the same architectures goes into the same file; other settings have a file of their own.
  options_.metrics.push_back("snip");
  Scorer more(setup(), options_);
  EXPECT_FALSE(more.knows(genotypes[0]));
  EXPECT_EQ(more.scores(genotypes[0]).at("trace"), first[0].at("trace"));
  EXPECT_EQ(more.cache_paths(), later.cache_paths());
  options_.initialiser = "he";
  EXPECT_NE(Scorer(setup(), options_).cache_paths(), later.cache_paths());
}

// Fisher and the Zen-score have changed their meaning since caches were first written.
TEST_F(ScorerTest, ScoresOfAnOlderDefinitionAreNotTakenForNewOnes) {
  options_.metrics = {"fisher", "snip"};
  const Genotype genotype = some(1)[0];
  std::filesystem::path path;
  {
    Scorer scorer(setup(), options_);
    scorer.scores(genotype);
    path = scorer.cache_paths()[0];
  }
  // As a version of Nascent wrote it that knew the first definition only.
  std::string header;
  std::ifstream file(path);
  std::getline(file, header);
  const std::string body = ScoreCache::key(genotype) + "\tfisher=7\tsnip=8";
  std::ofstream(path, std::ios::trunc) << header << "\n" << fmt::format("{:08x}\t{}\n", crc32(body), body);
  Scorer scorer(setup(), options_);
  EXPECT_FALSE(scorer.knows(genotype));
  const Scores scores = scorer.scores(genotype);
  EXPECT_EQ(scores.at("snip"), 8);
  EXPECT_NE(scores.at("fisher"), 7);
  EXPECT_TRUE(Scorer(setup(), options_).knows(genotype));
}

TEST_F(ScorerTest, ThreadsDoNotChangeScores) {
  options_.cache = "none";
  Scorer one(setup(), options_), two(setup(), options_);
  EXPECT_EQ(score_all(one, some(6), 1), score_all(two, some(6), 3));
}

TEST_F(ScorerTest, TheCacheStandsInTheOrderOfTheWorkWhoeverWasFirst) {
  auto genotypes = some(12);
  genotypes.push_back(genotypes[3]);  // drawn twice, computed once
  const auto cache_of = [&](const std::string& name, const std::function<void(Scorer&)>& before, int threads) {
    ScoreOptions options = options_;
    options.cache = (folder_ / name).string();
    {
      Scorer scorer(setup(), options);
      before(scorer);
    }
    Scorer scorer(setup(), options);
    score_all(scorer, genotypes, threads);
    return read_file(scorer.cache_paths()[0]);
  };
  const std::string one = cache_of(
      "one", [](Scorer&) {}, 1);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 13) << "a header and twelve architectures";
  EXPECT_EQ(cache_of(
                "threads", [](Scorer&) {}, 3),
            one);
  // A process that was killed had done the first two, and two more before their turn; the second of these was cut
  // short.
  const auto killed = [&](Scorer& scorer) {
    use_threads(1);  // as where many are scored
    for (const int i : {0, 1}) scorer.add(genotypes[i], scorer.compute(genotypes[i], scorer.metrics()));
    for (const int i : {5, 7}) scorer.keep_ahead(genotypes[i], scorer.compute(genotypes[i], scorer.metrics()));
    const auto ahead = std::filesystem::path(scorer.cache_paths()[0].string() + ".ahead");
    std::filesystem::resize_file(ahead, std::filesystem::file_size(ahead) - 3);
  };
  EXPECT_EQ(cache_of("killed", killed, 2), one);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    EXPECT_NE(entry.path().extension(), ".ahead") << "all have had their turn";
  }
  // What was kept ahead is not computed again.
  ScoreOptions options = options_;
  options.cache = (folder_ / "ahead").string();
  {
    Scorer scorer(setup(), options);
    scorer.keep_ahead(genotypes[4], {{"trace", 1}, {"kappa", 2}, {"grasp", 3}});
  }
  Scorer scorer(setup(), options);
  EXPECT_EQ(score_all(scorer, genotypes, 1)[4], (Scores{{"trace", 1}, {"kappa", 2}, {"grasp", 3}}));
}

TEST_F(ScorerTest, AFileCutShortLosesOnlyItsLastLine) {
  const auto genotypes = some(3);
  std::filesystem::path path;
  {
    Scorer scorer(setup(), options_);
    score_all(scorer, genotypes, 1);
    path = scorer.cache_paths()[0];
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 7);
  {
    Scorer scorer(setup(), options_);
    EXPECT_TRUE(scorer.knows(genotypes[0]));
    EXPECT_TRUE(scorer.knows(genotypes[1]));
    EXPECT_FALSE(scorer.knows(genotypes[2]));
    score_all(scorer, genotypes, 1);
  }
  EXPECT_TRUE(Scorer(setup(), options_).knows(genotypes[2]));
}

TEST_F(ScorerTest, ADamagedLineIsComputedAgain) {
  const auto genotypes = some(3);
  std::filesystem::path path;
  {
    Scorer scorer(setup(), options_);
    score_all(scorer, genotypes, 1);
    path = scorer.cache_paths()[0];
  }
  std::string bytes = read_file(path);
  bytes[bytes.find("trace=") + 7] ^= 1;
  write_file(path, bytes);
  Scorer scorer(setup(), options_);
  EXPECT_FALSE(scorer.knows(genotypes[0]));
  EXPECT_TRUE(scorer.knows(genotypes[1]));
}

// They became NaN where the end of the file was cut off by another process that mended it.
TEST_F(ScorerTest, ScoresThatGotLostMeanwhileAreAnError) {
  std::filesystem::path path;
  int computed = 0;
  Metric::Registry::instance().add("emptying", "empties the cache when the second architecture is scored", [&](Probe&) {
    if (++computed == 2) std::filesystem::resize_file(path, 0);
    return 1.0;
  });
  options_.metrics = {"emptying"};
  Scorer scorer(setup(), options_);
  path = scorer.cache_paths()[0];
  EXPECT_THAT(error_of([&] { score_all(scorer, some(3), 1); }), testing::HasSubstr("no longer holds emptying of |"));
}

TEST_F(ScorerTest, TheConditionNumberMayHaveSettingsOfItsOwn) {
  options_.cache = "none";
  Scorer plain(setup(), options_);
  options_.kappa_batch = 4;
  options_.kappa_channels = 2;
  Scorer apart(setup(), options_);
  const Genotype genotype = find_genotype(testing_score::architectures()[0]);
  const Scores a = plain.scores(genotype), b = apart.scores(genotype);
  EXPECT_EQ(a.at("trace"), b.at("trace"));
  EXPECT_NE(a.at("kappa"), b.at("kappa"));
  Sample small(testing_score::architectures()[0], 2);
  Probe probe(small.source(), genotype, {}, sample_.batch(4));
  EXPECT_EQ(Metric::Registry::instance().make("kappa", probe), b.at("kappa"));
}

TEST_F(ScorerTest, CtrlCKeepsWhatIsDone) {
  Scorer scorer(setup(), options_);
  request_interrupt();
  EXPECT_THROW(score_all(scorer, some(3), 1), Interrupted);
  request_interrupt(false);
  EXPECT_EQ(score_all(scorer, some(3), 1).size(), 3u);
}

TEST_F(ScorerTest, InfinityIsKept) {
  const Genotype none = find_genotype("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|");
  { EXPECT_TRUE(std::isinf(Scorer(setup(), options_).scores(none).at("kappa"))); }
  Scorer later(setup(), options_);
  EXPECT_TRUE(later.knows(none));
  EXPECT_TRUE(std::isinf(later.scores(none).at("kappa")));
}

TEST_F(ScorerTest, UnknownMetricsAreAnsweredWithTheKnownOnes) {
  options_.metrics = {"trance"};
  try {
    Scorer scorer(setup(), options_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean 'trace'?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace nascent
