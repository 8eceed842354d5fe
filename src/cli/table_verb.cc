// nascent table: benchmark tables: import, look up, rank.
#include <algorithm>
#include <cmath>

#include "nascent/cli/verb.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/table/import.h"
#include "nascent/table/table_rank.h"

namespace nascent {
namespace {

std::string optional_text(const std::optional<double>& value, const std::string& unit = "") {
  return value ? fmt::format("{:.2f}{}", *value, unit) : "-";
}

class TableVerb : public Verb {
 public:
  std::string arguments() const override {
    return "import SOURCE | show TABLE | query TABLE ARCHITECTURE | best TABLE";
  }

  std::string advice(const std::vector<std::string>& words) const override {
    if (words.empty() || (words[0] != "search" && words[0] != "compare")) return "";
    const std::string table = words.size() > 1 && !words[1].starts_with("-") ? words[1] : "TABLE";
    const auto after = [&](const std::string& flag, const std::string& usual) {
      const auto found = std::find(words.begin(), words.end(), flag);
      return found != words.end() && found + 1 != words.end() ? *(found + 1) : usual;
    };
    if (words[0] == "search") {
      return fmt::format("'nascent table search' is now: nascent search --recipe {} --table {}",
                         after("--strategy", "rea"), table);
    }
    const std::string one = after("--strategy", "rea");
    return fmt::format("'nascent table compare' is now: nascent search --recipes {} --seeds {} --table {}",
                       after("--strategies", one + (one == "random" ? ",rea" : ",random")), after("--runs", "10"),
                       table);
  }

  void declare(OptionTable& table) override {
    auto section = table.section("table",
                                 "import, query, best: a SOURCE is a .csv or .json file or a folder of NATS-Bench "
                                 "records; an ARCHITECTURE is named in "
                                 "any form, or by #NUMBER in the benchmark's own order.");
    section.add("out", out_, "import: the table's file");
    section.add("space", space_, "import: search space of the architectures; empty: that of the first one");
    section.add("measure", measure_,
                "query, best: one column, such as cifar10_valid12 or cifar10_test200_seed777; empty: query prints all, "
                "best takes the test accuracy after the longest schedule");
    section.add("count", count_, "best: how many").range(1, 1e9);
  }

  Json run(const Invocation& invocation) override {
    const auto& words = invocation.arguments;
    static const std::vector<std::string> actions = {"import", "show", "query", "best"};
    if (words.empty()) fail("nascent table: an action was expected: {}.", join(actions, ", "));
    const std::string& action = words[0];
    if (std::find(actions.begin(), actions.end(), action) == actions.end()) {
      fail("nascent table: there is no action '{}'.{} Known: {}.", action, suggestion(action, actions),
           join(actions, ", "));
    }
    if (action == "import") return import(invocation, words_of(invocation, {"a CSV or JSON file, or a folder"})[1]);
    if (action == "query") {
      words_of(invocation, {"a table", "an architecture"});
      return query(invocation, BenchmarkTable(words[1]), words[2]);
    }
    const BenchmarkTable table(words_of(invocation, {"a table"})[1]);
    if (action == "show") return show(invocation, table);
    return best(invocation, table);
  }

 private:
  // All words, where as many follow the action as are expected.
  static const std::vector<std::string>& words_of(const Invocation& invocation,
                                                  const std::vector<std::string>& expected) {
    const auto& words = invocation.arguments;
    if (words.size() != expected.size() + 1) {
      fail("nascent table {}: expected {}; found {}.", words[0], join(expected, " and "),
           words.size() == 1 ? "nothing" : join({words.begin() + 1, words.end()}, " "));
    }
    return words;
  }

  Json import(const Invocation& invocation, const std::string& source) const {
    if (out_.empty()) fail("nascent table import: --out TABLE, the file to write, is missing.");
    const TableBuilder builder = import_table(source, space_);
    builder.write(out_);
    return show(invocation, BenchmarkTable(out_));
  }

  static Json show(const Invocation& invocation, const BenchmarkTable& table) {
    invocation.print(fmt::format("table          {}", table.path().string()));
    invocation.print(fmt::format("imported from  {}", table.source()));
    invocation.print(fmt::format("architectures  {} of the {:.0f} of {}", table.rows(), table.space()->count(),
                                 table.space()->name()));
    invocation.print(fmt::format("size           {:.2f} MB, {} columns", table.bytes() / 1e6, table.columns().size()));
    Json columns = Json::array();
    for (const std::string& data : table.data_sets()) {
      std::map<std::string, std::vector<std::string>> quantities;
      for (const Measure& column : table.columns()) {
        if (column.data != data) continue;
        columns.push_back(column.name());
        auto& budgets = quantities[column.quantity];
        const std::string budget = column.budget.of > 0 ? column.budget.text() : "";
        if (!budget.empty() && (budgets.empty() || budgets.back() != budget)) budgets.push_back(budget);
      }
      invocation.print(data);
      for (const auto& [quantity, budgets] : quantities) {
        invocation.print(fmt::format("  {:<22} {}", quantity, budgets.empty() ? "" : "epochs " + join(budgets, ", ")));
      }
    }
    return {{"path", table.path().string()}, {"source", table.source()}, {"space", table.space()->name()},
            {"architectures", table.rows()}, {"bytes", table.bytes()},   {"columns", columns}};
  }

  static size_t find_row(const BenchmarkTable& table, const std::string& architecture) {
    if (!architecture.starts_with("#")) return table.row(find_genotype(architecture));
    const std::string digits = architecture.substr(1);
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
      fail("'{}' is not an architecture's number in the benchmark's own order, such as #11.", architecture);
    }
    return table.row_of_number(std::stoll(digits));
  }

  Json query(const Invocation& invocation, const BenchmarkTable& table, const std::string& architecture) const {
    const size_t row = find_row(table, architecture);
    if (!measure_.empty()) return query_measure(invocation, table, row);
    Json result = {{"architecture", table.describe(row)}, {"number", table.number(row)}};
    invocation.print(table.describe(row));
    invocation.print(fmt::format("{:<12} {:>6} {:>8} {:>8} {:>15} {:>8} {:>10}", "data set", "epochs", "valid", "test",
                                 "rank", "regret", "seconds"));
    for (const TableRank& place : table_ranks(table, row)) {
      const std::string rank = place.of > 0 ? fmt::format("{} of {}", place.rank, place.of) : "-";
      invocation.print(fmt::format("{:<12} {:>6} {:>8} {:>8} {:>15} {:>8} {:>10}", place.data, place.budget.text(),
                                   optional_text(place.valid), optional_text(place.test), rank,
                                   optional_text(place.regret), optional_text(place.seconds)));
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

  Json query_measure(const Invocation& invocation, const BenchmarkTable& table, size_t row) const {
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

  Measure default_measure(const BenchmarkTable& table) const {
    for (const std::string quantity : {"test", "valid"}) {
      const std::string data = table.data_sets().front();
      const auto budgets = table.budgets(data, quantity);
      if (!budgets.empty()) return {.data = data, .quantity = quantity, .budget = budgets.back()};
    }
    return table.columns().front();
  }

  Json best(const Invocation& invocation, const BenchmarkTable& table) const {
    const TableSeries series = table.series(measure_.empty() ? default_measure(table) : parse_measure(measure_));
    Json rows = Json::array();
    if (measure_.empty()) log::info("By {}.", series.measure().name());
    for (const size_t row : series.best(static_cast<size_t>(count_))) {
      invocation.print(fmt::format("{:>6} {:>10.4f}  {}", series.rank(row), series.value(row), table.describe(row)));
      rows.push_back({{"rank", series.rank(row)}, {"value", series.value(row)}, {"architecture", table.describe(row)}});
    }
    return {{"measure", series.measure().name()}, {"best", rows}};
  }

  std::string out_, space_, measure_;
  int64_t count_ = 10;
};

NASCENT_REGISTER(Verb, "table", "imports benchmark tables, looks architectures up and ranks them",
                 [] { return std::make_unique<TableVerb>(); });

}  // namespace
}  // namespace nascent
