// What the pieces of a farm are, in the order of their numbers, as all ranks know it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nascent::cluster {

// What a piece is made from: a text, and a number where pieces are alike but for it ("number 12 of the sample").
struct Work {
  std::string text{};
  int64_t number = 0;
};

// Neighbours of one text whose numbers follow one another are kept, and told to other ranks, as one range: a million of
// them take no more room than one.
class WorkList {
 public:
  void add(const Work& work);
  int64_t size() const { return size_; }
  Work at(int64_t piece) const;

  // Those from piece `first` on, for another rank, and what it does with them.
  std::string packed(int64_t first) const;
  void add_packed(std::string_view bytes);

 private:
  struct Range {
    std::string text;
    int64_t number, count;  // of the first, and how many
    int64_t first;          // piece
  };
  void add(std::string text, int64_t number, int64_t count);

  std::vector<Range> ranges_;
  int64_t size_ = 0;
};

}  // namespace nascent::cluster
