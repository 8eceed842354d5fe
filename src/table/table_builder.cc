#include "nascent/table/table_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {

namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> reordered(const std::vector<T>& values, const std::vector<size_t>& order, T missing) {
  std::vector<T> sorted(order.size(), missing);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < values.size()) sorted[i] = values[order[i]];
  }
  return sorted;
}

// No benchmark has every accuracy below one per cent: such a column holds fractions.
void refuse_fractions(const Measure& measure, const std::vector<float>& values) {
  if (!measure.is_accuracy()) return;
  float highest = 0;
  for (const float value : values) highest = std::isnan(value) ? highest : std::max(highest, value);
  if (highest > 0 && highest <= 1) {
    fail("{} is {} at most: these are fractions, but accuracies are per cent. Multiply the column by 100.",
         measure.name(), highest);
  }
}

template <class T>
uint64_t add_array(TableFileWriter& writer, const std::vector<T>& values) {
  return writer.add(values.data(), values.size() * sizeof(T));
}

}  // namespace

TableBuilder::TableBuilder(std::shared_ptr<const Space> space, std::string source)
    : space_(std::move(space)), source_(std::move(source)) {
  if (!can_be_numbered(*space_)) code_ = GenotypeCode::of(*space_);
}

Hash128 TableBuilder::key_of(const Genotype& genotype) const {
  if (numbered()) return {0, static_cast<uint64_t>(space_->index_of(genotype))};
  space_->validate_published(genotype);
  return genotype_hash(genotype);
}

size_t TableBuilder::add(const Genotype& genotype, int64_t number) {
  const Hash128 key = key_of(genotype);
  const auto [known, is_new] = row_of_key_.emplace(key, rows());
  if (!is_new) fail("The architecture appears twice; row {} of the table is the same.", known->second + 1);
  keys_.push_back(key);
  if (!numbered()) codes_.push_back(code_->encode(genotype).value());
  numbers_.push_back(number);
  return rows() - 1;
}

void TableBuilder::set(size_t row, const Measure& measure, double value) {
  if (!std::isfinite(value)) fail("{} is not a finite number.", measure.name());
  if (measure.is_accuracy() && (value < 0 || value > 100)) {
    fail("{} is {}, but accuracies are per cent, 0 to 100.", measure.name(), value);
  }
  std::vector<float>& column = columns_[measure];
  if (column.size() <= row) column.resize(row + 1, kMissing);
  column[row] = static_cast<float>(value);
}

std::vector<size_t> TableBuilder::order() const {
  std::vector<size_t> order(keys_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys_[a] < keys_[b]; });
  return order;
}

void TableBuilder::add_keys(TableFileWriter& writer, Json& index, const std::vector<size_t>& order) const {
  // A complete table needs no keys: the row is the place in the space.
  if (static_cast<double>(rows()) >= space_->count()) return;
  std::vector<uint64_t> places;
  for (const size_t row : order) places.push_back(keys_[row].low);
  index["keys"] = add_array(writer, places);
}

void TableBuilder::add_genotypes(TableFileWriter& writer, Json& index, const std::vector<size_t>& order) const {
  std::string codes;
  std::vector<uint64_t> starts = {0};
  for (const size_t row : order) {
    codes += codes_[row];
    starts.push_back(codes.size());
  }
  index["types"] = code_->types();
  index["ops"] = code_->ops();
  index["hashes"] = add_array(writer, reordered(keys_, order, Hash128()));
  index["starts"] = add_array(writer, starts);
  index["codes"] = writer.add(codes.data(), codes.size());
}

std::string TableBuilder::bytes() const {
  if (rows() == 0 || columns_.empty()) fail("{}: there is nothing in it to make a table of.", source_);
  for (const auto& [measure, values] : columns_) refuse_fractions(measure, values);
  const std::vector<size_t> sorted = order();
  TableFileWriter writer;
  Json index = {{"space", space_->name()}, {"source", source_}, {"rows", rows()}};
  if (numbered()) add_keys(writer, index, sorted);
  if (!numbered()) add_genotypes(writer, index, sorted);
  if (std::any_of(numbers_.begin(), numbers_.end(), [](int64_t number) { return number >= 0; })) {
    std::vector<int32_t> numbers(numbers_.begin(), numbers_.end());
    index["numbers"] = add_array(writer, reordered(numbers, sorted, -1));
  }
  index["columns"] = Json::array();
  for (const auto& [measure, values] : columns_) {
    index["columns"].push_back(
        {{"name", measure.name()}, {"offset", add_array(writer, reordered(values, sorted, kMissing))}});
  }
  return writer.finish(index);
}

void TableBuilder::write(const std::filesystem::path& path) const { write_file(path, bytes()); }

}  // namespace nascent
