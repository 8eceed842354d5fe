// Tables of probabilities for tests.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/ensemble/combination.h"

namespace nascent::testing_ensemble {

inline Probabilities table(const std::vector<std::vector<float>>& rows) {
  Probabilities result{static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()), {}};
  for (const auto& row : rows) result.values.insert(result.values.end(), row.begin(), row.end());
  return result;
}

// Sure of the class that each digit names, of `classes`.
inline Probabilities calling(const std::string& digits, int classes) {
  std::vector<std::vector<float>> rows;
  for (const char digit : digits) {
    std::vector<float> row(static_cast<size_t>(classes), 0.1f / static_cast<float>(classes - 1));
    row[static_cast<size_t>(digit - '0')] = 0.9f;
    rows.push_back(row);
  }
  return table(rows);
}

// Softmax of normal logits times `scale`, the label's raised by `skill`.
inline Probabilities random_table(int64_t images, int64_t classes, const Labels& labels, uint64_t seed,
                                  double skill = 1, double scale = 1) {
  Probabilities result{images, classes, std::vector<float>(static_cast<size_t>(images * classes))};
  for (int64_t i = 0; i < images; ++i) {
    RandomStream random(seed, "table", {static_cast<uint64_t>(i)});
    double sum = 0;
    std::vector<double> row;
    for (int64_t c = 0; c < classes; ++c) {
      row.push_back(std::exp(scale * (random.normal() + (c == labels[static_cast<size_t>(i)] ? skill : 0))));
      sum += row.back();
    }
    for (size_t c = 0; c < row.size(); ++c) result.row(i)[c] = static_cast<float>(row[c] / sum);
  }
  return result;
}

inline Labels cyclic_labels(int64_t images, int64_t classes) {
  Labels labels;
  for (int64_t i = 0; i < images; ++i) labels.push_back(i % classes);
  return labels;
}

}  // namespace nascent::testing_ensemble
