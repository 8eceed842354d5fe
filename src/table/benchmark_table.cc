#include "nascent/table/benchmark_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/space/nasbench101.h"
#include "nascent/table/table_file.h"

namespace nascent {

TableSeries::TableSeries(Measure measure, std::vector<std::span<const float>> seeds)
    : measure_(std::move(measure)), seeds_(std::move(seeds)) {}

double TableSeries::value(size_t row) const {
  if (seeds_.size() == 1) return seeds_[0][row];
  double sum = 0;
  int count = 0;
  for (const auto& seed : seeds_) {
    if (std::isnan(seed[row])) continue;
    sum += seed[row];
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

double TableSeries::at(size_t row) const {
  const double found = value(row);
  if (std::isnan(found)) fail("The table has no {} for row {}.", measure_.name(), row);
  return found;
}

std::span<const float> TableSeries::all() const {
  if (seeds_.size() == 1) return seeds_[0];
  std::call_once(means_->once, [&] {
    means_->values.resize(rows());
    for (size_t row = 0; row < rows(); ++row) means_->values[row] = static_cast<float>(value(row));
  });
  return means_->values;
}

size_t TableSeries::best() const {
  const auto values = all();
  size_t best = rows();
  for (size_t row = 0; row < rows(); ++row) {
    if (!std::isnan(values[row]) && (best == rows() || better(values[row], values[best]))) best = row;
  }
  if (best == rows()) fail("The table has no value of {}.", measure_.name());
  return best;
}

std::vector<size_t> TableSeries::best(size_t count) const {
  const auto values = all();
  std::vector<size_t> order;
  for (size_t row = 0; row < rows(); ++row) {
    if (!std::isnan(values[row])) order.push_back(row);
  }
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                    [&](size_t a, size_t b) { return values[a] != values[b] ? better(values[a], values[b]) : a < b; });
  order.resize(count);
  return order;
}

size_t TableSeries::rank(size_t row) const {
  at(row);  // an Error where there is none
  const auto values = all();
  const float own = values[row], sign = measure_.is_accuracy() ? 1.0F : -1.0F;
  size_t ahead = 0;
  for (const float value : values) ahead += sign * value > sign * own;  // NaN never is
  return ahead + 1;
}

double TableSeries::regret(size_t row) const { return std::abs(at(best()) - at(row)); }

size_t TableSeries::count() const {
  const auto values = all();
  return static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](float value) { return !std::isnan(value); }));
}

template <class T>
std::span<const T> BenchmarkTable::array(std::string_view data, uint64_t start, size_t count) const {
  if (start % alignof(T) != 0 || start > data.size() || count > (data.size() - start) / sizeof(T)) {
    fail("{} is damaged: an array lies outside of it. Import it again with 'nascent table import'.", path_.string());
  }
  return {reinterpret_cast<const T*>(data.data() + start), count};
}

BenchmarkTable::BenchmarkTable(const std::filesystem::path& path) : path_(path), file_(path) {
  const TableFileParts parts = read_table_file(file_.bytes(), path.string());
  const Json& index = parts.index;
  space_ = find_space(index.at("space").get<std::string>());
  source_ = index.at("source").get<std::string>();
  rows_ = index.at("rows").get<size_t>();
  if (index.contains("keys")) keys_ = array<uint64_t>(parts.data, index["keys"], rows_);
  if (index.contains("numbers")) numbers_ = array<int32_t>(parts.data, index["numbers"], rows_);
  if (index.contains("hashes")) read_genotypes(index, parts.data);
  for (const Json& column : index.at("columns")) {
    columns_.push_back(parse_measure(column.at("name").get<std::string>()));
    values_.push_back(array<float>(parts.data, column.at("offset"), rows_));
  }
}

void BenchmarkTable::read_genotypes(const Json& index, std::string_view data) {
  code_.emplace(space_->name(), index.at("types"), index.at("ops"));
  hashes_ = array<Hash128>(data, index["hashes"], rows_);
  starts_ = array<uint64_t>(data, index.at("starts"), rows_ + 1);
  const auto codes = array<char>(data, index.at("codes"), starts_[rows_]);
  codes_ = {codes.data(), codes.size()};
}

void BenchmarkTable::require_space(const std::string& name) const {
  const bool part = space_->name() == "nasbench101" && name.starts_with("nasbench1shot1");
  if (name == space_->name() || part) return;
  fail("The architecture is of the space '{}', but {} is a table of '{}'.", name, path_.string(), space_->name());
}

namespace {

bool same_cells(const Space& a, const Space& b) {
  const auto same = [](const CellChoices& x, const CellChoices& y) {
    return x.type == y.type && x.inputs == y.inputs && x.nodes.size() == y.nodes.size() && x.output == y.output;
  };
  return std::equal(a.cells().begin(), a.cells().end(), b.cells().begin(), b.cells().end(), same);
}

}  // namespace

void BenchmarkTable::require_space(const Space& space) const {
  if (!code_ || !same_cells(space, *space_)) require_space(space.name());
}

std::string_view BenchmarkTable::code_of(size_t row) const {
  const uint64_t start = starts_[row], end = starts_[row + 1];
  return start <= end && end <= codes_.size() ? codes_.substr(start, end - start) : std::string_view();
}

std::optional<size_t> BenchmarkTable::find_hashed(const Genotype& genotype) const {
  const Hash128 hash = genotype_hash(genotype);
  const auto place = std::lower_bound(hashes_.begin(), hashes_.end(), hash);
  const auto row = static_cast<size_t>(place - hashes_.begin());
  if (place != hashes_.end() && *place == hash && code_->encode(genotype) == code_of(row)) return row;
  if (genotype.space != space_->name()) require_space(*find_space(genotype.space));
  space_->validate_published(genotype);
  return std::nullopt;
}

std::optional<size_t> BenchmarkTable::find(const Genotype& genotype) const {
  if (code_) return find_hashed(genotype);
  require_space(genotype.space);
  const bool own = genotype.space == space_->name();
  const auto key = static_cast<uint64_t>(space_->index_of(own ? genotype : to_nasbench101(genotype)));
  if (keys_.empty()) return key;
  const auto place = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (place == keys_.end() || *place != key) return std::nullopt;
  return static_cast<size_t>(place - keys_.begin());
}

size_t BenchmarkTable::row(const Genotype& genotype) const {
  if (const auto found = find(genotype)) return *found;
  fail("{} has no row for the architecture {}; it holds {} of the {:.16g} architectures of {}.", path_.string(),
       to_text(genotype, text_forms(genotype).back()), rows_, space_->count(), space_->name());
}

Genotype BenchmarkTable::genotype(size_t row) const {
  if (code_) {
    if (auto found = code_->decode(code_of(row))) return *std::move(found);
    fail("{} is damaged: row {} holds no architecture. Import it again with 'nascent table import'.", path_.string(),
         row);
  }
  return space_->at(static_cast<double>(keys_.empty() ? row : keys_[row]));
}

size_t BenchmarkTable::row_of_number(int64_t number) const {
  const auto place = std::find(numbers_.begin(), numbers_.end(), number);
  if (place != numbers_.end()) return static_cast<size_t>(place - numbers_.begin());
  if (numbers_.empty()) fail("{} does not know the benchmark's own numbers.", path_.string());
  fail("{} has no architecture with the benchmark's number {}; it holds {} architectures.", path_.string(), number,
       rows_);
}

std::string BenchmarkTable::describe(size_t row) const {
  const Genotype architecture = genotype(row);
  const std::string text = to_text(architecture, text_forms(architecture).back());
  return number(row) < 0 ? text : fmt::format("#{} {}", number(row), text);
}

std::vector<std::span<const float>> BenchmarkTable::spans_of(const Measure& measure) const {
  std::vector<std::span<const float>> seeds;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == measure) return {values_[i]};
    Measure mean = columns_[i];
    mean.seed = kMeanOfSeeds;
    if (mean == measure) seeds.push_back(values_[i]);
  }
  return seeds;
}

TableSeries BenchmarkTable::series(const Measure& measure) const {
  auto spans = spans_of(measure);
  if (spans.empty()) refuse(measure);
  return {measure, std::move(spans)};
}

namespace {

// Other numbers are not what was meant.
bool is_word(const std::string& text) { return text.find_first_not_of("0123456789") != std::string::npos; }

}  // namespace

// Says which part of the measure is not in the table, the first that is not.
void BenchmarkTable::refuse(const Measure& measure) const {
  std::vector<Measure> left = columns_;
  const auto narrow = [&](const std::string& what, const std::string& wanted, auto text_of) {
    std::set<std::string> known;
    for (const Measure& column : left) known.insert(text_of(column));
    if (known.count(wanted) == 0) {
      const std::vector<std::string> names(known.begin(), known.end());
      fail("{} has no {}: it lacks the {} '{}'.{} It has: {}.", path_.string(), measure.name(), what, wanted,
           is_word(wanted) ? suggestion(wanted, names) : "", join(names, ", "));
    }
    std::erase_if(left, [&](const Measure& column) { return text_of(column) != wanted; });
  };
  narrow("data set", measure.data, [](const Measure& m) { return m.data; });
  narrow("quantity", measure.quantity, [](const Measure& m) { return m.quantity; });
  narrow("number of epochs", measure.budget.text(), [](const Measure& m) { return m.budget.text(); });
  narrow("seed", fmt::format("{}", measure.seed),
         [](const Measure& m) { return m.seed == kMeanOfSeeds ? "mean" : fmt::format("{}", m.seed); });
  fail("{} has no {}.", path_.string(), measure.name());
}

std::vector<std::string> BenchmarkTable::data_sets() const {
  std::set<std::string> names;
  for (const Measure& column : columns_) names.insert(column.data);
  return {names.begin(), names.end()};
}

std::vector<Budget> BenchmarkTable::budgets(const std::string& data, const std::string& quantity) const {
  std::set<Budget> budgets;
  for (const Measure& column : columns_) {
    if (column.data == data && column.quantity == quantity) budgets.insert(column.budget);
  }
  return {budgets.begin(), budgets.end()};
}

std::vector<std::string> BenchmarkTable::fixed_quantities(const std::string& data) const {
  std::set<std::string> names;
  for (const Measure& column : columns_) {
    if (column.data == data && column.budget.of == 0) names.insert(column.quantity);
  }
  return {names.begin(), names.end()};
}

namespace {

// The time of the same schedule, whole; else that of the longest schedule there is.
Measure train_time(const BenchmarkTable& table, const std::string& data, const Budget& budget) {
  const Measure own{.data = data, .quantity = "train_seconds", .budget = Budget(budget.of)};
  const std::vector<Budget> known = table.budgets(data, own.quantity);
  if (table.has(own) || known.empty()) return own;
  return {.data = data, .quantity = own.quantity, .budget = known.back()};
}

}  // namespace

TableCost::TableCost(const BenchmarkTable& table, const std::string& data, const Budget& budget)
    : train_(table.series(train_time(table, data, budget))) {
  scale_ = static_cast<double>(budget.epochs) / train_.measure().budget.epochs;
  const Measure evaluation{.data = data, .quantity = "valid_seconds"};
  if (table.has(evaluation)) evaluation_ = table.series(evaluation);
}

double TableCost::at(size_t row) const { return train_.at(row) * scale_ + (evaluation_ ? evaluation_->at(row) : 0.0); }

}  // namespace nascent
