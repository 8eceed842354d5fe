// nascent analyze rank: how well estimates rank architectures.
#include <cmath>

#include "nascent/analysis/rank.h"
#include "nascent/analysis/shared_estimates.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/grid_plot.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/csv.h"

namespace nascent {
namespace {

// Columns of numbers by name, a row per architecture; what is not a number is missing.
using Columns = std::vector<std::pair<std::string, std::vector<double>>>;

double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? NAN : value;
}

constexpr const char* kFields =
    "estimate,architectures,spearman,spearman_p,pearson,pearson_p,kendall,kendall_p,agreement,agreement_chance,"
    "agreement_p";

class AnalyzeRankVerb : public Verb {
 public:
  std::string arguments() const override { return "[FILE.csv]"; }

  void declare(OptionTable& table) override {
    auto section =
        table.section("rank", "Estimates and truth: columns of a CSV file, of a benchmark table, or of both.");
    section.add("table", table_, "benchmark table; its measures are columns, and rows of the file are looked up in it");
    section.add("truth", truth_, "column that says what architectures are worth");
    section.add("estimates", estimates_, "columns that are to rank them; empty: all others of the file");
    section.add("lower", lower_, "columns of which lower is better, the truth too: errors, losses, condition numbers");
    section.add("architecture", architecture_, "column of the file that names the architecture, for the table");
    section.add("supernet", supernet_,
                "folder of a finished one-shot search: accuracies with its shared weights become the column "
                "'shared_weights'");
    section.add("sample", sample_, "table without a file: so many architectures at random; 0: all").at_least(0);
    section.add("share", options_.share, "of the best that agreement-k looks at").range(0.001, 1);
    section.add("permutations", options_.permutations, "random orders behind each p-value").range(0, 1000000);
    section.add("seed", seed_, "of the sample and the permutations").at_least(0);
    section.add("plot", plot_, "draw estimates against the truth into this .svg file");
    section.add("csv", csv_, "write the agreement to this file");
    section.add("values", values_, "write the columns themselves to this file, a line per architecture");
  }

  Json run(const Invocation& invocation) override {
    options_.seed = static_cast<uint64_t>(seed_);
    if (truth_.empty()) fail("nascent analyze rank: --truth COLUMN is missing, as in --truth cifar10_test200.");
    Columns columns = read(invocation.argument("CSV file", false));
    for (auto& [name, values] : columns) {
      if (std::count(lower_.begin(), lower_.end(), name) == 0) continue;
      for (double& value : values) value = -value;
    }
    const std::vector<double>& truth = find(columns, truth_);
    Json rows = Json::array();
    std::vector<PicturePanel> panels;
    std::string csv = std::string(kFields) + "\n";
    for (const std::string& name : chosen(columns)) {
      const RankAgreement found = rank_agreement(name, find(columns, name), truth, options_);
      rows.push_back(found.to_json());
      print(invocation, found);
      csv += line(rows.back());
      panels.push_back(panel(name, find(columns, name), truth, found));
    }
    if (!csv_.empty()) write_file(csv_, csv);
    if (!values_.empty()) write_file(values_, values_csv(columns));
    if (!plot_.empty()) {
      const auto picture = draw_picture(panels);
      if (!picture) fail("--plot: gnuplot did not run; install the package gnuplot.");
      write_file(plot_, *picture);
    }
    return {{"truth", truth_}, {"agreement", rows}};
  }

 private:
  Columns read(const std::string& file) const {
    if (file.empty() && table_.empty()) fail("nascent analyze rank: a CSV file or --table TABLE was expected.");
    Columns columns;
    std::vector<size_t> rows;
    std::optional<BenchmarkTable> table;
    if (!table_.empty()) table.emplace(table_);
    if (file.empty()) {
      rows = sampled(*table);
    } else {
      columns = read_file_columns(file, table ? &*table : nullptr, rows);
    }
    if (!table) {
      if (!supernet_.empty()) fail("--supernet: architectures are looked up in a table; name it with --table.");
      return columns;
    }
    if (!supernet_.empty())
      columns.emplace_back("shared_weights", shared_estimates(supernet_, genotypes(*table, rows)));
    std::vector<std::string> wanted = estimates_;
    wanted.push_back(truth_);
    for (const std::string& name : wanted) {
      if (has(columns, name)) continue;
      const TableSeries series = table->series(parse_measure(name));
      auto& [_, values] = columns.emplace_back(name, std::vector<double>());
      for (size_t row : rows) values.push_back(series.value(row));
    }
    return columns;
  }

  static std::vector<Genotype> genotypes(const BenchmarkTable& table, const std::vector<size_t>& rows) {
    std::vector<Genotype> all;
    for (const size_t row : rows) all.push_back(table.genotype(row));
    return all;
  }

  std::vector<size_t> sampled(const BenchmarkTable& table) const {
    RandomStream random(options_.seed, "rank sample");
    const std::vector<int64_t> order = random.permutation(static_cast<int64_t>(table.rows()));
    const size_t count = sample_ > 0 ? std::min<size_t>(sample_, order.size()) : order.size();
    return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  Columns read_file_columns(const std::string& file, const BenchmarkTable* table, std::vector<size_t>& found) const {
    const std::vector<CsvRow> rows = parse_csv(read_file(file), file);
    if (rows.empty()) fail("{} is empty; a line of names and a line per architecture were expected.", file);
    Columns columns;
    for (const std::string& name : rows[0].fields) columns.emplace_back(name, std::vector<double>());
    for (size_t r = 1; r < rows.size(); ++r) {
      for (size_t c = 0; c < columns.size(); ++c) columns[c].second.push_back(number_of(rows[r].fields[c]));
      if (!table) continue;
      const auto& names = rows[0].fields;
      const auto place = std::find(names.begin(), names.end(), architecture_);
      if (place == names.end())
        fail("{} has no column '{}' to look architectures up by; name it with --architecture.", file, architecture_);
      found.push_back(table->row(find_genotype(rows[r].fields[place - names.begin()])));
    }
    return columns;
  }

  static bool has(const Columns& columns, const std::string& name) {
    return std::any_of(columns.begin(), columns.end(), [&](const auto& column) { return column.first == name; });
  }

  static const std::vector<double>& find(const Columns& columns, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [known, values] : columns) {
      if (known == name) return values;
      names.push_back(known);
    }
    fail("There is no column '{}'.{} There are: {}.", name, suggestion(name, names), join(names, ", "));
  }

  std::vector<std::string> chosen(const Columns& columns) const {
    if (!estimates_.empty()) return estimates_;
    std::vector<std::string> names;
    for (const auto& [name, values] : columns) {
      const bool numbers = std::any_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
      if (name != truth_ && numbers) names.push_back(name);
    }
    return names;
  }

  void print(const Invocation& invocation, const RankAgreement& found) const {
    invocation.print(
        fmt::format("{:<24} {:>6} architectures: Spearman {:>6.3f} (p {:.3g}), Pearson {:>6.3f} (p {:.3g}), Kendall "
                    "{:>6.3f} (p {:.3g}), "
                    "best {:g} %: {:.0f} % agree, {:.0f} % by chance (p {:.3g})",
                    found.estimate, found.architectures, found.spearman, found.spearman_p, found.pearson,
                    found.pearson_p, found.kendall, found.kendall_p, 100 * options_.share, 100 * found.agreement,
                    100 * found.agreement_chance, found.agreement_p));
  }

  static std::string values_csv(const Columns& columns) {
    std::vector<std::string> names;
    for (const auto& [name, values] : columns) names.push_back(name);
    std::string text = join(names, ",") + "\n";
    for (size_t row = 0; row < columns.front().second.size(); ++row) {
      std::vector<std::string> fields;
      for (const auto& [name, values] : columns) {
        fields.push_back(std::isnan(values[row]) ? "" : fmt::format("{}", values[row]));
      }
      text += join(fields, ",") + "\n";
    }
    return text;
  }

  static std::string line(const Json& row) {
    std::vector<std::string> fields;
    for (const std::string& key : split(kFields, ',')) {
      const Json value = row.value(key, Json());
      fields.push_back(value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump());
    }
    return join(fields, ",") + "\n";
  }

  PicturePanel panel(const std::string& name, const std::vector<double>& values, const std::vector<double>& truth,
                     const RankAgreement& found) const {
    ScatterPlot plot;
    plot.groups.push_back({name, {}});
    for (size_t i = 0; i < values.size(); ++i) plot.groups[0].points.emplace_back(values[i], truth[i]);
    return {fmt::format("{}: Spearman {:.2f}", name, found.spearman), name, truth_, script_of(plot)};
  }

  std::string table_, truth_, architecture_ = "architecture", supernet_, plot_, csv_, values_;
  std::vector<std::string> estimates_, lower_;
  int64_t sample_ = 0, seed_ = 1;
  RankOptions options_;
};

NASCENT_REGISTER(Verb, "analyze rank", "how well estimates rank architectures",
                 [] { return std::make_unique<AnalyzeRankVerb>(); });

}  // namespace
}  // namespace nascent
