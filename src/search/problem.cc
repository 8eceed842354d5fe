#include "nascent/search/problem.h"

namespace nascent {

Problem::Problem(const SearchOptions& options) : options_(options), space_(find_space(options.space)) {
  if (!options.table.empty()) table_.emplace(options.table).require_space(*space_);
}

const ImageData& Problem::images() const {
  if (!images_) images_.emplace(options_.data, seed());
  return *images_;
}

}  // namespace nascent
