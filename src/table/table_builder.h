// Gathers the rows of a benchmark table, in any order, and writes them in the order of the search space or, where that
// is too large to be numbered, of their hashes.
//
//   TableBuilder builder(find_space("nasbench201"), "nasbench201.csv");
//   const size_t row = builder.add(genotype, 11);
//   builder.set(row, parse_measure("cifar10_valid12"), 63.278);
//   builder.write("nasbench201.table");
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "nascent/space/genotype_code.h"
#include "nascent/table/measure.h"
#include "nascent/table/table_file.h"

namespace nascent {

class TableBuilder {
 public:
  // `source` is said in the table's description.
  TableBuilder(std::shared_ptr<const Space> space, std::string source);

  // A new row; `number` is the architecture's in the benchmark's own order, -1 where it has none. An Error where the
  // architecture is not of the space, or there already (up to isomorphism, where the space knows it). Spaces that
  // cannot be numbered take published architectures (Space::validate_published).
  size_t add(const Genotype& genotype, int64_t number);
  // An Error where the value is not finite, or an accuracy not within 0 and 100.
  void set(size_t row, const Measure& measure, double value);

  const Space& space() const { return *space_; }
  size_t rows() const { return numbers_.size(); }
  std::string bytes() const;
  void write(const std::filesystem::path& path) const;

 private:
  // What a row is known by: the hash of the architecture or, in a numbered space, its place.
  Hash128 key_of(const Genotype& genotype) const;
  struct KeyHash {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  bool numbered() const { return !code_; }
  std::vector<size_t> order() const;
  void add_keys(TableFileWriter& writer, Json& index, const std::vector<size_t>& order) const;
  void add_genotypes(TableFileWriter& writer, Json& index, const std::vector<size_t>& order) const;

  std::shared_ptr<const Space> space_;
  std::string source_;
  std::optional<GenotypeCode> code_;  // of a space that cannot be numbered
  std::vector<Hash128> keys_;
  std::vector<std::string> codes_;  // as keys_, where the space cannot be numbered
  std::vector<int64_t> numbers_;    // in the benchmark's own order
  std::unordered_map<Hash128, size_t, KeyHash> row_of_key_;
  std::map<Measure, std::vector<float>> columns_;  // shorter than keys_ where the last rows have no value
};

}  // namespace nascent
