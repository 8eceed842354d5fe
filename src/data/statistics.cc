#include "nascent/data/statistics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "nascent/core/files.h"
#include "nascent/core/log.h"

namespace nascent {
namespace {

constexpr int cache_version = 1;

struct Sums {
  uint64_t count = 0;  // pixels of one channel
  std::vector<uint64_t> sum, squares;

  explicit Sums(int channels) : sum(channels), squares(channels) {}
  void add(const Image& image);
  void add(const Sums& other);
};

void Sums::add(const Image& image) {
  const size_t channels = sum.size();
  for (size_t c = 0; c < channels; ++c) {
    uint64_t total = 0, square = 0;
    for (size_t i = c; i < image.pixels.size(); i += channels) {
      const uint32_t value = image.pixels[i];
      total += value;
      square += value * value;
    }
    sum[c] += total;
    squares[c] += square;
  }
  count += image.pixels.size() / channels;
}

void Sums::add(const Sums& other) {
  count += other.count;
  for (size_t c = 0; c < sum.size(); ++c) {
    sum[c] += other.sum[c];
    squares[c] += other.squares[c];
  }
}

// What became of all images: the sums of those that can be read, and why the others cannot.
struct Reading {
  Sums sums;
  std::map<int64_t, std::string> failures{};

  std::vector<std::string> reasons() const {
    std::vector<std::string> all;
    for (const auto& [index, reason] : failures) all.push_back(reason);
    return all;
  }
};

Reading read_all(const Dataset& dataset, int workers) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  Reading all{Sums(dataset.channels())};
  const auto work = [&] {
    Sums sums(dataset.channels());
    std::map<int64_t, std::string> failures;
    Image image;
    for (int64_t i = next++; i < dataset.size(); i = next++) {
      try {
        dataset.read(i, image);
        sums.add(image);
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    }
    const std::lock_guard lock(mutex);
    all.sums.add(sums);
    all.failures.merge(failures);
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back(work);
  }
  return all;
}

// All of them at once: whoever mends one file and starts again wants no second such message.
void refuse_failures(const std::vector<std::string>& reasons, int64_t images) {
  constexpr size_t kShown = 50;
  if (reasons.empty()) return;
  if (reasons.size() == 1) fail("{}", reasons.front());
  std::string list;
  for (size_t i = 0; i < std::min(kShown, reasons.size()); ++i) list += "\n  " + reasons[i];
  if (reasons.size() > kShown) list += fmt::format("\n  and {} more", reasons.size() - kShown);
  fail("{} of {} images cannot be read:{}", reasons.size(), images, list);
}

Sums sum_images(const Dataset& dataset, int workers) {
  Reading reading = read_all(dataset, workers);
  refuse_failures(reading.reasons(), dataset.size());
  return std::move(reading.sums);
}

ChannelStatistics compute(const Dataset& dataset, int workers) {
  const Sums sums = sum_images(dataset, workers);
  ChannelStatistics statistics;
  for (size_t c = 0; c < sums.sum.size(); ++c) {
    const long double count = sums.count, mean = sums.sum[c] / count;
    const long double variance = std::max(sums.squares[c] / count - mean * mean, 0.0L);
    statistics.mean.push_back(static_cast<double>(mean / 255));
    statistics.deviation.push_back(static_cast<double>(std::sqrt(variance) / 255));
  }
  return statistics;
}

std::filesystem::path cache_path(const Dataset& dataset, const std::string& what) {
  return cache_directory() / what /
         fmt::format("{}-{}-{:08x}.json", dataset.name(), dataset.size(), dataset.checksum());
}

std::optional<ChannelStatistics> read_cache(const std::filesystem::path& path, size_t channels) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(path));
    ChannelStatistics statistics{json.at("mean").get<std::vector<double>>(),
                                 json.at("deviation").get<std::vector<double>>()};
    const bool good = json.at("version").get<int>() == cache_version && statistics.mean.size() == channels &&
                      statistics.deviation.size() == channels;
    if (good) return statistics;
  } catch (const std::exception& error) {
    log::debug("The cached statistics {} are damaged ({}) and are computed anew.", path.string(), error.what());
  }
  return std::nullopt;
}

void write_cache(const std::filesystem::path& path, const ChannelStatistics& statistics) {
  try {
    const Json json = {{"version", cache_version}, {"mean", statistics.mean}, {"deviation", statistics.deviation}};
    write_file(path, json.dump(2) + "\n");
  } catch (const std::exception& error) {
    log::debug("The statistics are not cached: {}", error.what());
  }
}

void remember_checked(const std::filesystem::path& path) {
  try {
    write_file(path, "{}\n");
  } catch (const std::exception& error) {
    log::debug("That the images can be read is not remembered: {}", error.what());
  }
}

}  // namespace

ChannelStatistics channel_statistics(const Dataset& dataset, int workers) {
  const auto path = cache_path(dataset, "statistics");
  if (const auto cached = read_cache(path, dataset.channels())) return *cached;
  const ChannelStatistics statistics = compute(dataset, std::max(workers, 1));
  write_cache(path, statistics);
  return statistics;
}

void check_images(const std::vector<const Dataset*>& parts, int workers) {
  std::vector<std::string> reasons;
  int64_t images = 0;
  for (const Dataset* part : parts) {
    images += part->size();
    const auto path = cache_path(*part, "checked");
    std::error_code unreadable;
    if (std::filesystem::exists(path, unreadable)) continue;
    const auto found = read_all(*part, std::max(workers, 1)).reasons();
    reasons.insert(reasons.end(), found.begin(), found.end());
    if (found.empty()) remember_checked(path);
  }
  refuse_failures(reasons, images);
}

}  // namespace nascent
