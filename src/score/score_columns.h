// Scores of many architectures, a column of numbers for each metric.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace nascent {

using Scores = std::map<std::string, double>;  // by metric

class ScoreColumns {
 public:
  ScoreColumns() = default;
  ScoreColumns(std::vector<std::string> metrics, size_t rows)
      : metrics_(std::move(metrics)),
        columns_(metrics_.size(), std::vector<double>(rows, std::numeric_limits<double>::quiet_NaN())),
        rows_(rows) {}

  size_t size() const { return rows_; }
  const std::vector<std::string>& metrics() const { return metrics_; }
  const std::vector<double>& column(const std::string& metric) const {
    return columns_.at(static_cast<size_t>(std::find(metrics_.begin(), metrics_.end(), metric) - metrics_.begin()));
  }
  Scores operator[](size_t row) const {
    Scores scores;
    for (size_t m = 0; m < metrics_.size(); ++m) scores[metrics_[m]] = columns_[m][row];
    return scores;
  }
  // Those of `scores` that have a column.
  void set(size_t row, const Scores& scores) {
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (const auto score = scores.find(metrics_[m]); score != scores.end()) columns_[m][row] = score->second;
    }
  }
  bool operator==(const ScoreColumns&) const = default;

 private:
  std::vector<std::string> metrics_{};
  std::vector<std::vector<double>> columns_{};
  size_t rows_ = 0;
};

}  // namespace nascent
