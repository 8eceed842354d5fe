// A benchmark's results, looked up by architecture: what it reaches on each data set, what it costs, where it stands.
//
//   BenchmarkTable table("nasbench201.table");
//   const auto test = table.series(parse_measure("cifar10_test200"));
//   const size_t row = table.row(genotype);
//   test.at(row), test.rank(row), test.regret(row);
//
// The file is mapped into memory and used as it lies.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nascent/core/mapped_file.h"
#include "nascent/space/genotype_code.h"
#include "nascent/table/measure.h"
#include "nascent/table/table_file.h"

namespace nascent {

// One measure of every architecture of a table; valid as long as the table is.
class TableSeries {
 public:
  TableSeries(Measure measure, std::vector<std::span<const float>> seeds);

  const Measure& measure() const { return measure_; }
  // Mean over the seeds that there are; NaN where there is none.
  double value(size_t row) const;
  // As value(), but an Error where there is none.
  double at(size_t row) const;
  // Accuracies are better the higher, everything else the lower.
  bool better(double a, double b) const { return measure_.is_accuracy() ? a > b : a < b; }
  size_t best() const;
  // The best first; rows without a value are left out.
  std::vector<size_t> best(size_t count) const;
  // 1 for the best; architectures with equal values share the better rank.
  size_t rank(size_t row) const;
  // How far the row is from the best, never negative.
  double regret(size_t row) const;
  size_t rows() const { return seeds_.front().size(); }
  // Rows that have a value.
  size_t count() const;

 private:
  struct Means {
    std::once_flag once;
    std::vector<float> values;
  };
  // The values of all rows; means over seeds are formed once, when first asked for.
  std::span<const float> all() const;

  Measure measure_;
  std::vector<std::span<const float>> seeds_;
  std::shared_ptr<Means> means_ = std::make_shared<Means>();
};

class BenchmarkTable {
 public:
  // An Error says what is wrong with the file.
  explicit BenchmarkTable(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::shared_ptr<const Space>& space() const { return space_; }
  const std::string& source() const { return source_; }
  size_t rows() const { return rows_; }
  size_t bytes() const { return file_.bytes().size(); }
  // Every architecture of the space has a row.
  bool complete() const { return keys_.empty() && !code_; }

  // A table of NAS-Bench-101 also knows the architectures of NAS-Bench-1Shot1, and a table of a space that cannot be
  // numbered those of any space with the same cells, such as darts-pr's in a table of darts.
  std::optional<size_t> find(const Genotype& genotype) const;
  // As find(), but an Error names the architecture that is missing.
  size_t row(const Genotype& genotype) const;
  Genotype genotype(size_t row) const;
  // The architecture's number in the benchmark's own order; -1 where it has none.
  int64_t number(size_t row) const { return numbers_.empty() ? -1 : numbers_[row]; }
  size_t row_of_number(int64_t number) const;
  // An Error where the architectures of the space cannot be in the table.
  void require_space(const Space& space) const;
  // Short text for messages: the benchmark's number and the architecture's own text form.
  std::string describe(size_t row) const;

  // By name.
  const std::vector<Measure>& columns() const { return columns_; }
  // The stored column of that name or, for a mean over seeds, those of all seeds. An Error lists what there is: data
  // sets, quantities, epochs, seeds.
  TableSeries series(const Measure& measure) const;
  bool has(const Measure& measure) const { return !spans_of(measure).empty(); }
  std::vector<std::string> data_sets() const;
  // Epochs for which a quantity is known on a data set, ascending.
  std::vector<Budget> budgets(const std::string& data, const std::string& quantity) const;
  // Quantities known on a data set that do not depend on epochs.
  std::vector<std::string> fixed_quantities(const std::string& data) const;

 private:
  void require_space(const std::string& name) const;
  std::optional<size_t> find_hashed(const Genotype& genotype) const;
  std::string_view code_of(size_t row) const;
  void read_genotypes(const Json& index, std::string_view data);
  std::vector<std::span<const float>> spans_of(const Measure& measure) const;
  [[noreturn]] void refuse(const Measure& measure) const;
  template <class T>
  std::span<const T> array(std::string_view data, uint64_t offset, size_t count) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::shared_ptr<const Space> space_;
  std::string source_;
  size_t rows_ = 0;
  std::span<const uint64_t> keys_;    // empty: row i is the space's architecture i
  std::span<const int32_t> numbers_;  // empty: none has one
  // Of a space that cannot be numbered: hashes ascend, and the code of row i lies between starts i and i + 1.
  std::optional<GenotypeCode> code_;
  std::span<const Hash128> hashes_;
  std::span<const uint64_t> starts_;
  std::string_view codes_;
  std::vector<Measure> columns_;
  std::vector<std::span<const float>> values_;  // as columns_
};

// What training an architecture costs, in the table's seconds: training for the budget and, where the table knows it,
// one evaluation. Where a schedule's time is not in the table, another one's is scaled by the number of epochs.
class TableCost {
 public:
  TableCost(const BenchmarkTable& table, const std::string& data, const Budget& budget);
  double at(size_t row) const;

 private:
  TableSeries train_;
  double scale_ = 1;
  std::optional<TableSeries> evaluation_;
};

}  // namespace nascent
