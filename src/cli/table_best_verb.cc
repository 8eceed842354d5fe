// nascent table best: the best architectures of a benchmark table.
#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/table/table_rank.h"

namespace nascent {
namespace {

class TableBestVerb : public Verb {
 public:
  std::string arguments() const override { return "TABLE"; }
  void declare(OptionTable& table) override {
    auto section = table.section("table", "Which, and how many.");
    section.add("measure", measure_,
                "the column to rank by, such as cifar10_test200; empty: the test accuracy after the longest schedule");
    section.add("count", count_, "how many").range(1, 1e9);
  }

  Json run(const Invocation& invocation) override {
    const BenchmarkTable table(invocation.argument("table"));
    const TableSeries series = table.series(measure_.empty() ? longest_measure(table) : parse_measure(measure_));
    Json rows = Json::array();
    if (measure_.empty()) log::info("By {}.", series.measure().name());
    for (const size_t row : series.best(static_cast<size_t>(count_))) {
      invocation.print(fmt::format("{:>6} {:>10.4f}  {}", series.rank(row), series.value(row), table.describe(row)));
      rows.push_back({{"rank", series.rank(row)}, {"value", series.value(row)}, {"architecture", table.describe(row)}});
    }
    return {{"measure", series.measure().name()}, {"best", rows}};
  }

 private:
  std::string measure_;
  int64_t count_ = 10;
};

NASCENT_REGISTER(Verb, "table best", "lists the best architectures of a benchmark table",
                 [] { return std::make_unique<TableBestVerb>(); });

}  // namespace
}  // namespace nascent
