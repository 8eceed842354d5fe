#include "nascent/data/statistics.h"

#include <cmath>

#include "data/fixtures.h"

namespace nascent {
namespace {

class StatisticsTest : public DataTest {
 protected:
  fs::path cache_file() {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(path("cache/nascent/statistics"))) found = entry.path();
    return found;
  }
};

MemoryDataset two_pixels() { return MemoryDataset({"two", {2, 1, 1}, {0, 51, 255, 51}, {0, 0}, {"only"}, {}}); }

TEST_F(StatisticsTest, KnownAnswer) {
  const ChannelStatistics statistics = channel_statistics(two_pixels());
  EXPECT_DOUBLE_EQ(statistics.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(statistics.deviation[0], 0.5);
  EXPECT_DOUBLE_EQ(statistics.mean[1], 0.2);
  EXPECT_DOUBLE_EQ(statistics.deviation[1], 0);
}

TEST_F(StatisticsTest, AreReadFromTheCache) {
  channel_statistics(two_pixels());
  write_file(cache_file(), R"({"version": 1, "mean": [7, 8], "deviation": [9, 10]})");
  EXPECT_EQ(channel_statistics(two_pixels()).mean[1], 8);
}

TEST_F(StatisticsTest, ADamagedCacheIsComputedAnew) {
  for (const char* text : {"", "{", "[]", R"({"version": 1, "mean": [1], "deviation": [1]})", R"({"version": 0})"}) {
    channel_statistics(two_pixels());
    write_file(cache_file(), text);
    EXPECT_DOUBLE_EQ(channel_statistics(two_pixels()).mean[0], 0.5) << text;
  }
}

TEST_F(StatisticsTest, OtherContentHasAnotherCacheEntry) {
  channel_statistics(two_pixels());
  const MemoryDataset other({"two", {2, 1, 1}, {255, 51, 255, 51}, {0, 0}, {"only"}, {}});
  EXPECT_DOUBLE_EQ(channel_statistics(other).mean[0], 1);
}

TEST_F(StatisticsTest, AnUnwritableCacheIsPassedOver) {
  write_file(path("file"), "");
  const Environment cache("XDG_CACHE_HOME", path("file"));
  EXPECT_DOUBLE_EQ(channel_statistics(two_pixels()).mean[0], 0.5);
}

TEST_F(StatisticsTest, DoNotDependOnTheNumberOfWorkers) {
  const auto dataset = counting_dataset(101, 5, 3);
  const ChannelStatistics one = channel_statistics(*dataset, 1);
  fs::remove_all(path("cache"));
  const ChannelStatistics three = channel_statistics(*dataset, 3);
  EXPECT_EQ(one.mean, three.mean);
  EXPECT_EQ(one.deviation, three.deviation);
}

}  // namespace
}  // namespace nascent
