#include "nascent/ensemble/temperature.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nascent {
namespace {

// Logarithms of the probabilities: the logits, but for one number per image that a softmax does not see.
std::vector<float> logits_of(const Probabilities& table) {
  std::vector<float> logits(table.values.size());
  std::transform(table.values.begin(), table.values.end(), logits.begin(),
                 [](float p) { return static_cast<float>(std::log(std::max<double>(p, 1e-37))); });
  return logits;
}

double loss_at(const Probabilities& table, const std::vector<float>& logits, const Labels& labels, double inverse) {
  double sum = 0;
  const auto classes = static_cast<size_t>(table.classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    const float* row = logits.data() + i * classes;
    const double largest = *std::max_element(row, row + classes) * inverse;
    double normaliser = 0;
    for (size_t c = 0; c < classes; ++c) normaliser += std::exp(row[c] * inverse - largest);
    sum += std::log(normaliser) + largest - row[labels[i]] * inverse;
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace

Probabilities with_temperature(const Probabilities& table, double temperature) {
  const std::vector<float> logits = logits_of(table);
  Probabilities result{table.images, table.classes, std::vector<float>(table.values.size())};
  const auto classes = static_cast<size_t>(table.classes);
  for (size_t start = 0; start < logits.size(); start += classes) {
    const double largest = *std::max_element(&logits[start], &logits[start] + classes);
    double sum = 0;
    for (size_t c = start; c < start + classes; ++c) sum += std::exp((logits[c] - largest) / temperature);
    for (size_t c = start; c < start + classes; ++c)
      result.values[c] = static_cast<float>(std::exp((logits[c] - largest) / temperature) / sum);
  }
  return result;
}

// The loss is convex in 1 / T, so a golden section finds its minimum. In log(1 / T) it still has only one.
double fitted_temperature(const Probabilities& table, const Labels& labels) {
  const std::vector<float> logits = logits_of(table);
  const double ratio = 1 / std::numbers::phi;
  const auto loss = [&](double log_inverse) { return loss_at(table, logits, labels, std::exp(log_inverse)); };
  double low = std::log(0.01), high = std::log(100.0);
  double left = high - ratio * (high - low), right = low + ratio * (high - low);
  double at_left = loss(left), at_right = loss(right);
  while (high - low > 1e-5) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      at_left = loss(left = high - ratio * (high - low));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      at_right = loss(right = low + ratio * (high - low));
    }
  }
  return std::exp(-(low + high) / 2);
}

}  // namespace nascent
