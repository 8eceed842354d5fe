#include "nascent/score/score_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/space/space.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::HasSubstr;

const Json kSettings = {{"space", "darts"}, {"seed", 1}};

Genotype architecture(int i) {
  RandomStream random(9, "cache", {static_cast<uint64_t>(i)});
  return find_space("darts")->sample(random);
}

// Keys are in files that are there: they must not change.
TEST(ScoreCacheKey, IsTheFormThatItAlwaysWas) {
  RandomStream random(2, "keys");
  for (const std::string name : {"darts", "darts-s2", "nasnet", "nasbench1shot1-s2", "nasbench101"}) {
    for (int i = 0; i < 50; ++i) {
      Genotype genotype = find_space(name)->sample(random);
      for (auto& cell : genotype.cells) {
        for (auto& node : cell.nodes) {
          std::stable_sort(node.edges.begin(), node.edges.end(),
                           [](const auto& a, const auto& b) { return a.from < b.from; });
        }
      }
      EXPECT_EQ(ScoreCache::key(genotype), Json::parse(to_text(genotype, "json")).dump());
    }
  }
  Genotype quoted = architecture(1);
  quoted.space = "a \"space\"";
  EXPECT_THAT(ScoreCache::key(quoted), HasSubstr(R"("space":"a \"space\"")"));
  EXPECT_EQ(ScoreCache::key(find_genotype("nasbench201:0")), "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|");
}

// More than fit into what is read each time: part of the index is on disk, and the file is as without it.
TEST(ScoreCacheAtSize, FindsWhatAMapFinds) {
  const TemporaryFolder folder;
  std::map<std::string, Scores> expected;
  constexpr int kCount = 8000;
  for (int part = 0; part < 3; ++part) {
    ScoreCache cache(folder.path(), "darts", kSettings);
    for (int i = part * kCount / 2; i < part * kCount / 2 + kCount; ++i) {  // half of them again, with another metric
      const Scores scores = {{part == 1 ? "snip" : "trace", i * 1.5 + part}};
      cache.add(architecture(i), scores);
      for (const auto& [metric, value] : scores) expected[ScoreCache::key(architecture(i))][metric] = value;
    }
  }
  const ScoreCache cache(folder.path(), "darts", kSettings);
  EXPECT_TRUE(std::filesystem::exists(cache.path().string() + ".index"));
  for (int i = 0; i < 2 * kCount; ++i) {
    ASSERT_EQ(cache.find(architecture(i)), expected[ScoreCache::key(architecture(i))]) << i;
  }
  EXPECT_TRUE(cache.find(architecture(3 * kCount)).empty());
}

TEST(ScoreCacheAtSize, ProcessesShareAFileWhileItIsIndexed) {
  const TemporaryFolder folder;
  constexpr int kEach = 4000;
  std::vector<std::thread> writers;  // caches of their own, as processes have them
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([&, w] {
      ScoreCache cache(folder.path(), "darts", kSettings);
      for (int i = 0; i < kEach; ++i) {
        cache.add(architecture(w * kEach + i), {{"trace", w * kEach + i}});
        if (i % 500 != 0) continue;
        ASSERT_EQ(cache.find(architecture(w * kEach + i)).at("trace"), w * kEach + i);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  const ScoreCache cache(folder.path(), "darts", kSettings);
  for (int i = 0; i < 3 * kEach; ++i) ASSERT_EQ(cache.find(architecture(i)).at("trace"), i);
}

TEST(ScoreCacheAtSize, ADamagedLineIsNotKnown) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  {
    ScoreCache cache(folder.path(), "darts", kSettings);
    for (int i = 0; i < 9000; ++i) cache.add(architecture(i), {{"trace", i}});
    path = cache.path();
  }
  ASSERT_TRUE(std::filesystem::exists(path.string() + ".index"));
  std::string bytes = read_file(path);
  bytes[bytes.find("trace=77\n") + 6] = '8';  // behind the index's back
  write_file(path, bytes);
  const ScoreCache cache(folder.path(), "darts", kSettings);
  EXPECT_TRUE(cache.find(architecture(77)).empty());
  EXPECT_EQ(cache.find(architecture(78)).at("trace"), 78);
}

TEST(ScoreCacheAtSize, AFileOfOtherSettingsIsRefused) {
  const TemporaryFolder folder;
  std::filesystem::path path;
  {
    const ScoreCache cache(folder.path(), "darts", kSettings);
    path = cache.path();
  }
  Json other = kSettings;
  other["seed"] = 2;
  const auto theirs = [&] { return ScoreCache(folder.path(), "darts", other).path(); }();
  std::filesystem::copy_file(theirs, path, std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { ScoreCache(folder.path(), "darts", kSettings); }), HasSubstr("for these settings"));
}

// Whoever opened it next, in the same process too, waited forever.
TEST(ScoreCacheShared, AFileThatIsRefusedIsNotLeftLocked) {
  const TemporaryFolder folder;
  const auto path = [&] { return ScoreCache(folder.path(), "darts", kSettings).path(); }();
  std::string bytes = read_file(path);
  bytes[12] = static_cast<char>(bytes[12] ^ 1);
  write_file(path, bytes);
  EXPECT_THAT(error_of([&] { ScoreCache(folder.path(), "darts", kSettings); }), HasSubstr("for these settings"));
  EXPECT_TRUE(OpenFile::at(path, O_RDWR).try_lock());
}

// Lines that were added while the end of the file was looked at went with a last line that was cut short.
TEST(ScoreCacheShared, NothingIsAddedWhileTheEndIsMended) {
  const TemporaryFolder folder;
  ScoreCache cache(folder.path(), "darts", kSettings);
  const auto size = std::filesystem::file_size(cache.path());
  const OpenFile other = OpenFile::at(cache.path(), O_RDWR);
  std::atomic<bool> added = false;
  std::unique_lock mending(other);
  std::thread adding([&] {
    cache.add(architecture(1), {{"trace", 1}});
    added = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(added);
  EXPECT_EQ(std::filesystem::file_size(cache.path()), size);
  mending.unlock();
  adding.join();
  EXPECT_EQ(ScoreCache(folder.path(), "darts", kSettings).find(architecture(1)).at("trace"), 1);
}

TEST(ScoreCacheShared, WhatAnotherProcessKeepsAheadStays) {
  const TemporaryFolder folder;
  auto early = std::make_unique<ScoreCache>(folder.path(), "darts", kSettings);
  const std::string ahead = early->path().string() + ".ahead";
  {
    ScoreCache writer(folder.path(), "darts", kSettings);
    writer.keep_ahead(architecture(1), {{"trace", 1}});
    early.reset();
    EXPECT_TRUE(std::filesystem::exists(ahead)) << "somebody else's, who is at work";
    std::ofstream(ahead, std::ios::app) << "12345678\tcut sho";
    const auto size = std::filesystem::file_size(ahead);
    ScoreCache(folder.path(), "darts", kSettings);
    EXPECT_EQ(std::filesystem::file_size(ahead), size) << "mended under the writer's hands";
    early = std::make_unique<ScoreCache>(folder.path(), "darts", kSettings);
  }
  early.reset();
  EXPECT_TRUE(std::filesystem::exists(ahead)) << "left by one that was interrupted";
  ScoreCache last(folder.path(), "darts", kSettings);
  EXPECT_EQ(last.find_ahead(architecture(1)).at("trace"), 1);
  EXPECT_EQ(read_file(ahead).back(), '\n');
}

TEST(ScoreCacheShared, WhatWasAddedIsNotAheadAnyMore) {
  const TemporaryFolder folder;
  std::string ahead;
  {
    ScoreCache cache(folder.path(), "darts", kSettings);
    ahead = cache.path().string() + ".ahead";
    for (int i = 0; i < 3; ++i) cache.keep_ahead(architecture(i), {{"trace", i}});
    for (int i = 0; i < 2; ++i) cache.add(architecture(i), {{"trace", i}});
  }
  ASSERT_TRUE(std::filesystem::exists(ahead)) << "the last one had no turn";
  {
    ScoreCache cache(folder.path(), "darts", kSettings);
    EXPECT_TRUE(cache.find_ahead(architecture(1)).empty());
    EXPECT_EQ(cache.find_ahead(architecture(2)).at("trace"), 2);
    cache.add(architecture(2), {{"trace", 2}});
  }
  EXPECT_FALSE(std::filesystem::exists(ahead));
}

// The index of the file that stood there before said of the first lines of the new one that they were not there.
TEST(ScoreCacheShared, AFileThatWasMovedAwayTakesNoPartInTheIndexOfTheNext) {
  const TemporaryFolder folder;
  const std::string wide(4000, 'x');  // a few thousand lines are enough for an index
  const auto fill = [&](ScoreCache& cache, int from, int count) {
    for (int i = from; i < from + count; ++i) cache.add(architecture(i), {{wide, i}});
  };
  {
    ScoreCache first(folder.path(), "darts", kSettings);
    fill(first, 0, 1100);
  }
  {
    const auto moved = std::make_unique<ScoreCache>(folder.path(), "darts", kSettings);
    std::filesystem::rename(moved->path(), folder / "moved.scores");
    ScoreCache next(folder.path(), "darts", kSettings);
    fill(next, 10000, 2300);
  }
  const ScoreCache next(folder.path(), "darts", kSettings);
  for (int i = 10000; i < 12300; ++i) ASSERT_EQ(next.find(architecture(i)).at(wide), i);
}

}  // namespace
}  // namespace nascent
