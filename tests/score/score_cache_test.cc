#include "nascent/score/score_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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

}  // namespace
}  // namespace nascent
