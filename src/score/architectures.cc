#include "nascent/score/architectures.h"

#include "nascent/core/error.h"
#include "nascent/core/random.h"

namespace nascent {

Architectures Architectures::sample(std::shared_ptr<const Space> space, int64_t count, uint64_t seed) {
  Architectures some;
  some.space_ = std::move(space);
  some.size_ = static_cast<size_t>(count);
  some.sampled_ = true;
  some.seed_ = seed;
  return some;
}

Architectures Architectures::all(std::shared_ptr<const Space> space) {
  constexpr double kMost = 1e7;
  if (space->count() > kMost) {
    fail("The space '{}' has {:.2g} architectures, too many to score all. Use --sample.", space->name(),
         space->count());
  }
  Architectures every;
  every.size_ = static_cast<size_t>(space->count());
  every.space_ = std::move(space);
  return every;
}

Genotype Architectures::operator[](size_t place) const {
  if (!space_) return list_[place];
  if (!sampled_) return space_->at(static_cast<double>(place));
  RandomStream random(seed_, "sample", {static_cast<uint64_t>(place)});
  return space_->sample(random);
}

}  // namespace nascent
