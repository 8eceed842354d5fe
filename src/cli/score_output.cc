#include "nascent/cli/score_output.h"

#include <cmath>
#include <map>

#include "nascent/core/correlation.h"
#include "nascent/core/error.h"
#include "nascent/score/agreement.h"
#include "nascent/score/probe.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {
namespace {

using Columns = std::map<std::string, std::vector<double>>;

void print_connections(const Invocation& invocation, const std::vector<std::string>& metrics, const Columns& columns) {
  invocation.print(
      "\nConnection of metrics, where both are finite:\n\n| | | Pearson | Spearman | Kendall "
      "|\n|---|---|---|---|---|");
  for (size_t i = 0; i < metrics.size(); ++i) {
    for (size_t j = i + 1; j < metrics.size(); ++j) {
      std::vector<double> a, b;
      for (size_t k = 0; k < columns.at(metrics[i]).size(); ++k) {
        const double x = columns.at(metrics[i])[k], y = columns.at(metrics[j])[k];
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        a.push_back(x);
        b.push_back(y);
      }
      invocation.print(fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} |", metrics[i], metrics[j], pearson(a, b),
                                   spearman(a, b), kendall(a, b)));
    }
  }
}

bool low_is_better(const std::string& metric) { return Metric::Registry::instance().at(metric).facts.lower_is_better; }

}  // namespace

Json print_one(const Invocation& invocation, const ScoringResult& result) {
  for (const auto& metric : result.metrics) {
    invocation.print(fmt::format("{:<13} {:>14.6g}  {}", metric, result.scores[0].at(metric),
                                 Metric::Registry::instance().at(metric).description));
  }
  Json scores = result.to_json().at("scores").at(0);
  scores.erase("architecture");
  return scores;
}

void print_all(const Invocation& invocation, const ScoringResult& result) {
  constexpr size_t kMost = 50;
  std::string header;
  for (const auto& metric : result.metrics) header += fmt::format("{:>13} ", metric);
  invocation.print(header + " architecture");
  for (size_t i = 0; i < std::min(kMost, result.scores.size()); ++i) {
    std::string line;
    for (const auto& metric : result.metrics) line += fmt::format("{:>13.6g} ", result.scores[i].at(metric));
    invocation.print(line + " " + ScoreCache::key(result.genotypes[i]));
  }
  if (result.scores.size() > kMost) {
    invocation.print(fmt::format("... and {} more; --csv FILE writes them all", result.scores.size() - kMost));
  }
  invocation.print("");
}

void print_best(const Invocation& invocation, const ScoringResult& result) {
  for (const auto& metric : result.metrics) {
    const size_t best = best_by(metric, result.scores);
    invocation.print(fmt::format("{} {:<13} {:>14.6g}  {}", low_is_better(metric) ? "lowest " : "highest", metric,
                                 result.scores[best].at(metric), ScoreCache::key(result.genotypes[best])));
  }
}

void print_agreement(const Invocation& invocation, const ScoringResult& result, const AgreementOptions& options,
                     int64_t seed) {
  const BenchmarkTable table(options.table);
  const TableSeries accuracy = table.series(parse_measure(options.measure));
  std::vector<double> errors;
  std::vector<size_t> places;  // of the architectures that the table knows
  for (size_t i = 0; i < result.genotypes.size(); ++i) {
    const auto row = table.complete() ? table.row(result.genotypes[i]) : table.find(result.genotypes[i]);
    if (!row || (!table.complete() && std::isnan(accuracy.value(*row)))) continue;
    places.push_back(i);
    errors.push_back(100 - accuracy.at(*row));
  }
  if (places.empty()) {
    fail(
        "{} has {} of none of the {} architectures. Without any named, --all or --sample, those of the table are "
        "scored.",
        options.table, options.measure, result.genotypes.size());
  }
  Columns columns;
  for (const auto& metric : result.metrics) {
    for (const size_t i : places) columns[metric].push_back(as_bound(metric, result.scores.column(metric)[i]));
  }
  const bool with_kappa = columns.contains(kConditionNumber);
  invocation.print(
      fmt::format("\nAgreement with the error of {}{}, Spearman / Kendall:\n\n{}", options.measure,
                  places.size() < result.genotypes.size() ? fmt::format(" for {} of them", places.size()) : "",
                  "| metric | realisable | + trade-off | + kappa | non-realisable |\n|---|---|---|---|---|"));
  for (const auto& metric : result.metrics) {
    if (low_is_better(metric)) continue;  // the condition number is no metric of its own in the bounds
    const std::vector<double> ones(errors.size(), 1.0);
    const BoundAgreement found = bound_agreement(columns[metric], with_kappa ? columns[kConditionNumber] : ones, errors,
                                                 options.tries, static_cast<uint64_t>(seed));
    const auto text = [](const Agreement& a) { return fmt::format("{:.3f} / {:.3f}", a.spearman, a.kendall); };
    invocation.print(fmt::format("| {} | {} | {} | {} | {} |", metric, text(found.realisable), text(found.trade_off),
                                 with_kappa ? text(found.with_kappa) : "", with_kappa ? text(found.whole) : ""));
  }
  print_connections(invocation, result.metrics, columns);
}

}  // namespace nascent
