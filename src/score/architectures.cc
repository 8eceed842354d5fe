#include "nascent/score/architectures.h"

#include "nascent/core/error.h"
#include "nascent/core/hash.h"
#include "nascent/core/mapped_file.h"
#include "nascent/core/random.h"
#include "nascent/score/score_cache.h"

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

Architectures Architectures::of_table(std::shared_ptr<const BenchmarkTable> table) {
  Architectures rows;
  rows.size_ = table->rows();
  rows.table_ = std::move(table);
  return rows;
}

namespace {

// No CRC: files that end in their own all have the same.
std::string digest_of(std::string_view bytes) {
  const Hash128 hash = hash128(bytes);
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace

std::string Architectures::digest() const {
  if (space_) return "";
  if (table_) return digest_of(MappedFile(table_->path()).bytes());
  std::string all;
  for (const Genotype& genotype : list_) all += ScoreCache::key(genotype) + "\n";
  return digest_of(all);
}

Genotype Architectures::operator[](size_t place) const {
  if (table_) return table_->genotype(place);
  if (!space_) return list_[place];
  if (!sampled_) return space_->at(static_cast<double>(place));
  RandomStream random(seed_, "sample", {static_cast<uint64_t>(place)});
  return space_->sample(random);
}

}  // namespace nascent
