// What a search works on: the options, the space they name, the benchmark table, and the images, read when first asked
// for (a search on a table needs none).
#pragma once

#include <memory>
#include <optional>

#include "nascent/data/image_data.h"
#include "nascent/search/search_options.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

class Problem {
 public:
  // `options` are resolved and outlive the problem. An Error where the table is not of the space.
  explicit Problem(const SearchOptions& options);

  const SearchOptions& options() const { return options_; }
  const std::shared_ptr<const Space>& space() const { return space_; }
  uint64_t seed() const { return static_cast<uint64_t>(options_.run.seed); }
  const BenchmarkTable* table() const { return table_ ? &*table_ : nullptr; }  // null: none was named
  const ImageData& images() const;
  bool has_images() const { return images_.has_value(); }  // they were asked for

 private:
  const SearchOptions& options_;
  std::shared_ptr<const Space> space_;
  std::optional<BenchmarkTable> table_;
  mutable std::optional<ImageData> images_;
};

}  // namespace nascent
