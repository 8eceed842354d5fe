// Genotypes by a benchmark's own number: "nb201.table#1462" wherever a genotype is named.
#include <filesystem>

#include "nascent/core/error.h"
#include "nascent/space/genotype_source.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {
namespace {

std::optional<Genotype> by_number(const std::string& name) {
  const size_t sign = name.rfind('#');
  std::error_code none;
  if (sign == std::string::npos || name.find('\n') != std::string::npos ||
      !std::filesystem::is_regular_file(name.substr(0, sign), none)) {
    return std::nullopt;
  }
  const std::string digits = name.substr(sign + 1);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
    fail("'{}': expected an architecture's number in the benchmark's own order after the #, as in {}#11.", name,
         name.substr(0, sign));
  }
  const BenchmarkTable table(name.substr(0, sign));
  return table.genotype(table.row_of_number(std::stoll(digits)));
}

}  // namespace

NASCENT_REGISTER(GenotypeSource, "table", "TABLE#NUMBER, the number in the benchmark's own order", by_number);

}  // namespace nascent
