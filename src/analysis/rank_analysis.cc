#include "nascent/analysis/rank_analysis.h"

#include <algorithm>
#include <cmath>

#include "nascent/analysis/shared_estimates.h"
#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"
#include "nascent/run/picture_files.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/csv.h"

namespace nascent {
namespace {

using RankColumns = std::vector<RankColumn>;

constexpr const char* kSharedWeights = "shared_weights";
constexpr const char* kAgreementFields =
    "estimate,architectures,spearman,spearman_p,pearson,pearson_p,kendall,kendall_p,agreement,agreement_chance,"
    "agreement_p";

double number_or_missing(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? NAN : value;
}

bool has_column(const RankColumns& columns, const std::string& name) {
  return std::any_of(columns.begin(), columns.end(), [&](const RankColumn& column) { return column.name == name; });
}

std::vector<size_t> sampled_rows(const BenchmarkTable& table, const RankAnalysisOptions& options) {
  RandomStream random(static_cast<uint64_t>(options.seed), "rank sample");
  const std::vector<int64_t> order = random.permutation(static_cast<int64_t>(table.rows()));
  const size_t count = options.sample > 0 ? std::min<size_t>(options.sample, order.size()) : order.size();
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
}

RankColumns columns_of(const std::vector<CsvRow>& rows) {
  RankColumns columns;
  for (const std::string& name : rows[0].fields) columns.push_back({name, {}});
  for (size_t r = 1; r < rows.size(); ++r) {
    for (size_t c = 0; c < columns.size(); ++c) columns[c].numbers.push_back(number_or_missing(rows[r].fields[c]));
  }
  return columns;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code none;  // a text that is too long for a name is none
  return std::filesystem::is_regular_file(path, none);
}

// What the lines of the file call their architectures; files and folders may be named from where the file is.
std::vector<std::string> architectures_of(const std::vector<CsvRow>& rows, const RankAnalysisOptions& options) {
  const std::vector<std::string>& names = rows[0].fields;
  const auto place = std::find(names.begin(), names.end(), options.architecture);
  if (place == names.end()) {
    fail("{} has no column '{}' to look architectures up by; name it with --architecture.", options.file,
         options.architecture);
  }
  const auto from_there = [folder = std::filesystem::path(options.file).parent_path()](const std::string& name) {
    const auto path = folder / name;
    return is_file(path) || is_file(path / "genotype.json") ? path.string() : name;
  };
  std::vector<std::string> found;
  for (size_t r = 1; r < rows.size(); ++r) found.push_back(from_there(rows[r].fields[place - names.begin()]));
  return found;
}

// Measures that are asked for and not in the file.
void add_measures(RankColumns& columns, const BenchmarkTable& table, const std::vector<size_t>& rows,
                  const RankAnalysisOptions& options) {
  std::vector<std::string> wanted = options.estimates;
  wanted.push_back(options.truth);
  for (const std::string& name : wanted) {
    if (has_column(columns, name) || name == kSharedWeights) continue;
    const TableSeries series = table.series(parse_measure(name));
    RankColumn& column = columns.emplace_back(RankColumn{name, {}});
    for (const size_t row : rows) column.numbers.push_back(series.value(row));
  }
}

std::string architecture_text(const BenchmarkTable& table, size_t row) {
  const Genotype genotype = table.genotype(row);
  const std::vector<std::string> forms = text_forms(genotype);
  return forms.size() > 1 ? to_text(genotype, forms[1]) : fmt::format("#{}", row);
}

// What is ranked: numbers by architecture, and the architectures where a supernet is asked about them.
struct RankInput {
  RankAnalysis read;
  std::vector<Genotype> genotypes{};
};

void look_up(RankInput& input, const BenchmarkTable& table, const std::vector<size_t>& rows,
             const RankAnalysisOptions& options) {
  add_measures(input.read.columns, table, rows, options);
  input.genotypes.clear();
  input.read.architectures.clear();
  for (const size_t row : rows) {
    input.genotypes.push_back(table.genotype(row));
    input.read.architectures.push_back(architecture_text(table, row));
  }
}

// From the file, from the table, or from the file's architectures as the table has them.
RankInput read_input(const RankAnalysisOptions& options) {
  RankInput input{.read = {.truth = options.truth}};
  std::optional<BenchmarkTable> table;
  if (!options.table.empty()) table.emplace(options.table);
  if (options.file.empty()) {
    look_up(input, *table, sampled_rows(*table, options), options);
    return input;
  }
  const std::vector<CsvRow> lines = parse_csv(read_file(options.file), options.file);
  if (lines.empty()) fail("{} is empty; a line of names and a line per architecture were expected.", options.file);
  input.read.columns = columns_of(lines);
  if (!table && options.supernet.empty()) return input;
  input.read.architectures = architectures_of(lines, options);
  // Names, which now stand by themselves.
  std::erase_if(input.read.columns, [&](const RankColumn& column) { return column.name == options.architecture; });
  for (const std::string& name : input.read.architectures) input.genotypes.push_back(find_genotype(name));
  if (!table) return input;
  std::vector<size_t> rows;
  for (const Genotype& genotype : input.genotypes) rows.push_back(table->row(genotype));
  look_up(input, *table, rows, options);
  return input;
}

RankAnalysis read_columns(const RankAnalysisOptions& options) {
  if (options.file.empty() && options.table.empty()) {
    fail(
        "nascent analyze rank: architectures and their truth were expected: a CSV file with a line for each, or "
        "--table TABLE.");
  }
  RankInput input = read_input(options);
  RankColumns& columns = input.read.columns;
  if (options.supernet.empty()) return input.read;
  std::erase_if(columns,
                [](const RankColumn& column) { return column.name == kSharedWeights; });  // of another supernet
  // What is missing is said before minutes of evaluation.
  for (const std::string& name : options.estimates) {
    if (name != kSharedWeights) input.read.column(name);
  }
  if (options.truth != kSharedWeights) input.read.column(options.truth);
  columns.push_back({kSharedWeights, shared_estimates(options.supernet, input.genotypes)});
  return input.read;
}

std::vector<std::string> estimates_among(const RankColumns& columns, const RankAnalysisOptions& options) {
  if (!options.estimates.empty()) return options.estimates;
  std::vector<std::string> names;
  for (const auto& [name, numbers] : columns) {
    const bool any = std::any_of(numbers.begin(), numbers.end(), [](double v) { return std::isfinite(v); });
    if (name != options.truth && any) names.push_back(name);
  }
  return names;
}

void write_rank_files(const RankAnalysis& analysis, const RankAnalysisOptions& options) {
  if (!options.csv.empty()) write_file(options.csv, agreement_csv(analysis));
  if (!options.values.empty()) write_file(options.values, columns_csv(analysis));
  if (options.plot.empty()) return;
  const auto stem = std::filesystem::path(options.plot).replace_extension();
  write_file(stem.string() + "-values.csv", columns_csv(analysis));
  if (!write_picture(stem, agreement_panels(analysis)))
    fail("--plot: gnuplot did not run; install the package gnuplot.");
}

}  // namespace

void RankAnalysisOptions::declare(OptionTable& options) {
  auto section =
      options.section("rank", "Estimates and truth: columns of a CSV file, of a benchmark table, or of both.");
  section.add("table", table,
              "benchmark table in which to look up the architectures of the file; its measures become columns");
  section.add("truth", truth, "column with the true quality of the architectures");
  section.add("estimates", estimates, "columns to compare with the truth; empty: all other columns of the file");
  section.add("lower", lower,
              "columns in which lower is better (errors, losses, condition numbers), including the truth");
  section.add("architecture", architecture, "column of the file that names the architecture");
  section.add("supernet", supernet,
              "folder of a finished one-shot search: accuracies of the file's or table's architectures with its shared "
              "weights become the column 'shared_weights'");
  section.add("sample", sample, "without a file: number of random architectures to take from the table; 0: all")
      .at_least(0);
  section.add("share", rank.share, "fraction of the architectures that agreement-k counts as best").range(0.001, 1);
  section.add("permutations", rank.permutations, "number of permutations for each p-value").range(0, 1000000);
  section.add("seed", seed, "random seed for the sample and the permutations").at_least(0);
  section.add(
      "plot", plot,
      "plot the estimates against the truth to this .svg file, with a .png of each plot and a -values.csv beside it");
  section.add("csv", csv, "write the agreement to this file");
  section.add("values", values, "write the columns themselves to this file, one line per architecture");
}

const RankColumn& RankAnalysis::column(const std::string& name) const {
  std::vector<std::string> names;
  for (const RankColumn& known : columns) {
    if (known.name == name) return known;
    names.push_back(known.name);
  }
  fail("There is no column '{}'.{}{} There are: {}.", name, suggestion(name, names),
       name == kSharedWeights ? " It comes from a finished one-shot search: --supernet RUN." : "", join(names, ", "));
}

RankAnalysis analyse_rank(const RankAnalysisOptions& options) {
  if (options.truth.empty()) fail("nascent analyze rank: --truth COLUMN is missing, as in --truth cifar10_test200.");
  if (!options.plot.empty() && !options.plot.ends_with(".svg"))
    fail("--plot {}: the name must end in .svg.", options.plot);
  RankAnalysis analysis = read_columns(options);
  for (const std::string& name : options.lower) analysis.column(name);
  for (auto& [name, numbers] : analysis.columns) {
    if (std::count(options.lower.begin(), options.lower.end(), name) == 0) continue;
    for (double& number : numbers) number = -number;
  }
  const RankColumn& truth = analysis.column(options.truth);
  RankOptions how = options.rank;
  how.seed = static_cast<uint64_t>(options.seed);
  for (const std::string& name : estimates_among(analysis.columns, options)) {
    analysis.agreement.push_back(rank_agreement(name, analysis.column(name).numbers, truth.numbers, how));
  }
  write_rank_files(analysis, options);
  return analysis;
}

Json RankAnalysis::to_json() const {
  Json rows = Json::array();
  for (const RankAgreement& found : agreement) rows.push_back(found.to_json());
  return {{"truth", truth}, {"agreement", rows}};
}

std::string agreement_csv(const RankAnalysis& analysis) {
  std::string text = fmt::format("{}\n", kAgreementFields);
  for (const RankAgreement& found : analysis.agreement) {
    const Json row = found.to_json();
    std::vector<std::string> fields;
    for (const std::string& key : split(kAgreementFields, ',')) {
      const Json value = row.value(key, Json());
      fields.push_back(value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump());
    }
    text += fmt::format("{}\n", join(fields, ","));
  }
  return text;
}

std::string columns_csv(const RankAnalysis& analysis) {
  std::vector<std::string> names;
  if (!analysis.architectures.empty()) names.emplace_back("arch");
  for (const RankColumn& column : analysis.columns) names.push_back(column.name);
  std::string text = fmt::format("{}\n", join(names, ","));
  for (size_t row = 0; row < analysis.columns.front().numbers.size(); ++row) {
    std::vector<std::string> fields;
    if (!analysis.architectures.empty()) fields.push_back(csv_field(analysis.architectures[row]));
    for (const RankColumn& column : analysis.columns) {
      const double number = column.numbers[row];
      fields.push_back(std::isnan(number) ? "" : fmt::format("{}", number));
    }
    text += fmt::format("{}\n", join(fields, ","));
  }
  return text;
}

std::vector<PicturePanel> agreement_panels(const RankAnalysis& analysis) {
  const std::vector<double>& truth = analysis.column(analysis.truth).numbers;
  std::vector<PicturePanel> panels;
  for (const RankAgreement& found : analysis.agreement) {
    const std::vector<double>& numbers = analysis.column(found.estimate).numbers;
    ScatterPlot plot;
    plot.groups.push_back({found.estimate, {}});
    for (size_t i = 0; i < numbers.size(); ++i) plot.groups[0].points.emplace_back(numbers[i], truth[i]);
    const std::string spearman = std::isfinite(found.spearman) ? fmt::format("{:.2f}", found.spearman) : "undefined";
    panels.push_back(
        {fmt::format("{}: Spearman {}", found.estimate, spearman), found.estimate, analysis.truth, script_of(plot)});
  }
  return panels;
}

}  // namespace nascent
