#include "nascent/cluster/work_list.h"

#include <algorithm>
#include <cstring>

namespace nascent::cluster {
namespace {

void put(std::string& bytes, int64_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); }

int64_t take(std::string_view& bytes) {
  int64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

}  // namespace

void WorkList::add(std::string text, int64_t number, int64_t count) {
  if (!ranges_.empty()) {
    Range& last = ranges_.back();
    if (last.number + last.count == number && last.text == text) {
      last.count += count;
      size_ += count;
      return;
    }
  }
  ranges_.push_back({std::move(text), number, count, size_});
  size_ += count;
}

void WorkList::add(const Work& work) { add(work.text, work.number, 1); }

Work WorkList::at(int64_t piece) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), piece,
                                      [](int64_t wanted, const Range& range) { return wanted < range.first; });
  const Range& range = *(after - 1);
  return {range.text, range.number + piece - range.first};
}

std::string WorkList::packed(int64_t first) const {
  std::string bytes;
  for (const Range& range : ranges_) {
    const int64_t skipped = std::clamp<int64_t>(first - range.first, 0, range.count);
    if (skipped == range.count) continue;
    put(bytes, range.number + skipped);
    put(bytes, range.count - skipped);
    put(bytes, std::ssize(range.text));
    bytes += range.text;
  }
  return bytes;
}

void WorkList::add_packed(std::string_view bytes) {
  while (!bytes.empty()) {
    const int64_t number = take(bytes), count = take(bytes), length = take(bytes);
    add(std::string(bytes.substr(0, static_cast<size_t>(length))), number, count);
    bytes.remove_prefix(static_cast<size_t>(length));
  }
}

}  // namespace nascent::cluster
