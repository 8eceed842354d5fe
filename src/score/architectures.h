// The architectures that are scored: a list, a sample of a space, all of it, or those of a benchmark's table. All but a
// list's are made when they are asked for, so that a million of them take no room.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/space/space.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

class Architectures {
 public:
  Architectures() = default;
  Architectures(std::vector<Genotype> list) : list_(std::move(list)), size_(list_.size()) {}  // NOLINT: a list is one
  // `count` of the space, drawn at random by the seed and their place.
  static Architectures sample(std::shared_ptr<const Space> space, int64_t count, uint64_t seed);
  // An Error where there are too many to go through.
  static Architectures all(std::shared_ptr<const Space> space);

  static Architectures of_table(std::shared_ptr<const BenchmarkTable> table);

  size_t size() const { return size_; }
  // Of the files that they come from: "" where the space and the seed say all.
  std::string digest() const;
  Genotype operator[](size_t place) const;

 private:
  std::vector<Genotype> list_{};
  std::shared_ptr<const BenchmarkTable> table_{};
  std::shared_ptr<const Space> space_{};  // of all or some; null: the table, or the list
  size_t size_ = 0;
  bool sampled_ = false;
  uint64_t seed_ = 0;
};

}  // namespace nascent
