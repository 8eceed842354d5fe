#include "nascent/ensemble/figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace nascent {
namespace {

size_t label_of(const Labels& labels, int64_t image) { return static_cast<size_t>(labels[static_cast<size_t>(image)]); }

// Whether fewer than five classes are more probable than the label.
bool in_top5(std::span<const float> row, size_t label) {
  const auto above = std::count_if(row.begin(), row.end(), [&](float p) { return p > row[label]; });
  return above < 5;
}

double brier_score(std::span<const float> row, size_t label) {
  double sum = 0;
  for (size_t c = 0; c < row.size(); ++c) {
    const double gap = row[c] - (c == label ? 1.0 : 0.0);
    sum += gap * gap;
  }
  return sum;
}

double entropy_of(std::span<const float> row) {
  double sum = 0;
  for (const float p : row) {
    if (p > 0) sum -= p * std::log(static_cast<double>(p));
  }
  return sum;
}

double mean_entropy(const Probabilities& table) {
  double sum = 0;
  for (int64_t i = 0; i < table.images; ++i) sum += entropy_of(table.row(i));
  return sum / static_cast<double>(table.images);
}

double percent(int64_t part, int64_t whole) { return 100.0 * static_cast<double>(part) / static_cast<double>(whole); }

double share_of_differences(const Labels& a, const Labels& b) {
  int64_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different += a[i] != b[i];
  return percent(different, static_cast<int64_t>(a.size()));
}

// Figures that compare members with each other.
void add_member_figures(const Members& members, const Labels& labels, EnsembleFigures& figures) {
  std::vector<Labels> calls;
  std::vector<bool> somebody_right(labels.size());
  for (const Probabilities& member : members) {
    calls.push_back(called(member));
    figures.member_errors.push_back(share_of_differences(calls.back(), labels));
    for (size_t i = 0; i < labels.size(); ++i) somebody_right[i] = somebody_right[i] || calls.back()[i] == labels[i];
  }
  const auto n = members.size();
  figures.average_error =
      std::accumulate(figures.member_errors.begin(), figures.member_errors.end(), 0.0) / static_cast<double>(n);
  figures.oracle_error = percent(std::count(somebody_right.begin(), somebody_right.end(), false), figures.images);
  figures.disagreements.assign(n, std::vector<double>(n));
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double share = share_of_differences(calls[i], calls[j]);
      figures.disagreements[i][j] = figures.disagreements[j][i] = share;
      sum += share;
    }
  }
  if (n > 1) figures.disagreement = sum / (0.5 * static_cast<double>(n) * static_cast<double>(n - 1));
}

}  // namespace

Labels called(const Probabilities& table) {
  Labels result;
  for (int64_t i = 0; i < table.images; ++i) {
    const auto row = table.row(i);
    result.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return result;
}

double error_of(const Probabilities& table, const Labels& labels) {
  return share_of_differences(called(table), labels);
}

std::vector<ReliabilityBin> reliability(const Probabilities& table, const Labels& labels, int count) {
  Reliability found(count);
  const Labels calls = called(table);
  for (int64_t i = 0; i < table.images; ++i) {
    const auto call = static_cast<size_t>(calls[static_cast<size_t>(i)]);
    found.add(table.row(i)[call], call == label_of(labels, i));
  }
  return found.bins();
}

EnsembleFigures ensemble_figures(const Members& members, const Labels& labels, Combination how,
                                 std::span<const double> weights) {
  check_members(members, labels);
  const Probabilities whole = combine(members, how, weights);
  EnsembleFigures figures;
  figures.images = whole.images;
  figures.error = error_of(whole, labels);
  figures.loss = negative_log_likelihood(whole, labels);
  figures.entropy = mean_entropy(whole);
  int64_t outside_top5 = 0;
  for (int64_t i = 0; i < whole.images; ++i) {
    outside_top5 += !in_top5(whole.row(i), label_of(labels, i));
    figures.brier += brier_score(whole.row(i), label_of(labels, i)) / static_cast<double>(whole.images);
  }
  figures.top5_error = percent(outside_top5, whole.images);
  double entropies = 0, total = 0;
  for (size_t m = 0; m < members.size(); ++m) {
    const double weight = weights.empty() ? 1 : weights[m];
    entropies += weight * mean_entropy(members[m]);
    total += weight;
    figures.average_loss += negative_log_likelihood(members[m], labels) / static_cast<double>(members.size());
  }
  figures.mutual_information = figures.entropy - entropies / total;
  figures.reliability = reliability(whole, labels);
  figures.calibration_error = calibration_error(figures.reliability);
  add_member_figures(members, labels, figures);
  return figures;
}

Json EnsembleFigures::to_json() const {
  return {{"images", images},
          {"error", error},
          {"average_error", average_error},
          {"disagreement", disagreement},
          {"diversity", diversity()},
          {"oracle_error", oracle_error},
          {"top5_error", top5_error},
          {"loss", loss},
          {"average_loss", average_loss},
          {"brier", brier},
          {"calibration_error", calibration_error},
          {"entropy", entropy},
          {"mutual_information", mutual_information},
          {"member_errors", member_errors},
          {"disagreements", disagreements},
          {"reliability", nascent::to_json(reliability)}};
}

MeanAndError mean_and_error(std::span<const double> trials) {
  if (trials.empty()) return {};
  const auto n = static_cast<double>(trials.size());
  const double mean = std::accumulate(trials.begin(), trials.end(), 0.0) / n;
  if (trials.size() < 2) return {mean, 0};
  double squares = 0;
  for (const double x : trials) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

Json mean_and_error(const std::vector<Json>& trials) {
  Json result = Json::object();
  if (trials.empty()) return result;
  for (const auto& [name, first] : trials[0].items()) {
    if (!first.is_number()) continue;
    std::vector<double> values;
    for (const Json& trial : trials) values.push_back(trial.at(name).get<double>());
    const auto [mean, error] = mean_and_error(values);
    result[name] = {{"mean", mean}, {"standard_error", error}};
  }
  return result;
}

}  // namespace nascent
