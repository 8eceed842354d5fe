// nascent table query: looks an architecture up in a benchmark table.
#include <cmath>

#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/table/table_rank.h"

namespace nascent {
namespace {

class TableQueryVerb : public Verb {
 public:
  std::string arguments() const override { return "TABLE ARCHITECTURE"; }
  void declare(OptionTable& table) override {
    table.section("table", "An ARCHITECTURE is named in any form, or by #NUMBER in the benchmark's own order.")
        .add(
            "measure", measure_,
            "one column, such as cifar10_valid12 or cifar10_test200_seed777; empty: all accuracies, ranks and regrets");
  }

  Json run(const Invocation& invocation) override {
    const auto& words = invocation.arguments;
    if (words.size() != 2) {
      fail("nascent table query: expected a table and an architecture; found {}.",
           words.empty() ? "nothing" : join(words, " "));
    }
    const BenchmarkTable table(words[0]);
    const size_t row = find_row(table, words[1]);
    return measure_.empty() ? all_measures(invocation, table, row) : one_measure(invocation, table, row);
  }

 private:
  static std::string number_text(const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
  }

  static Json all_measures(const Invocation& invocation, const BenchmarkTable& table, size_t row) {
    Json result = {{"architecture", table.describe(row)}, {"number", table.number(row)}};
    invocation.print(table.describe(row));
    invocation.print(fmt::format("{:<12} {:>6} {:>8} {:>8} {:>15} {:>8} {:>10}", "data set", "epochs", "valid", "test",
                                 "rank", "regret", "seconds"));
    for (const TableRank& place : table_ranks(table, row)) {
      const std::string rank = place.of > 0 ? fmt::format("{} of {}", place.rank, place.of) : "-";
      invocation.print(fmt::format("{:<12} {:>6} {:>8} {:>8} {:>15} {:>8} {:>10}", place.data, place.budget.text(),
                                   number_text(place.valid), number_text(place.test), rank, number_text(place.regret),
                                   number_text(place.seconds)));
      result["data"][place.data].push_back(to_json(place));
    }
    for (const std::string& data : table.data_sets()) {
      for (const std::string& quantity : table.fixed_quantities(data)) {
        const double value = table.series({.data = data, .quantity = quantity}).value(row);
        if (std::isnan(value)) continue;
        invocation.print(fmt::format("{:<12} {:<22} {:>8.4g}", data, quantity, value));
        result["fixed"][data][quantity] = value;
      }
    }
    return result;
  }

  Json one_measure(const Invocation& invocation, const BenchmarkTable& table, size_t row) const {
    const TableSeries series = table.series(parse_measure(measure_));
    const double value = series.value(row);
    if (std::isnan(value)) fail("{} has no {} for {}.", table.path().string(), measure_, table.describe(row));
    invocation.print(fmt::format("{:.6g}", value));
    return {{"architecture", table.describe(row)},
            {"measure", measure_},
            {"value", value},
            {"rank", series.rank(row)},
            {"of", series.count()},
            {"regret", series.regret(row)}};
  }

  std::string measure_;
};

NASCENT_REGISTER(Verb, "table query", "looks up an architecture in a benchmark table",
                 [] { return std::make_unique<TableQueryVerb>(); });

}  // namespace
}  // namespace nascent
