#include "nascent/ensemble/running_ensemble.h"

#include <algorithm>
#include <cmath>

namespace nascent {
namespace {

// Numbers whose product is taken before its logarithm: none is below 1e-12 by much, so 16 of them fit a double.
constexpr size_t kTogether = 16;

float logit(float p) { return std::log(std::max(p, static_cast<float>(kLeastProbability))); }

}  // namespace

SelectionPool::SelectionPool(std::vector<const Probabilities*> members, const Labels& labels, Combination how)
    : members_(std::move(members)), labels_(labels), how_(how) {
  check_members(members_, labels);
  for (const Probabilities* member : members_) {
    std::vector<float> truth(labels.size());
    for (size_t i = 0; i < labels.size(); ++i)
      truth[i] = member->row(static_cast<int64_t>(i))[static_cast<size_t>(labels[i])];
    truth_.push_back(std::move(truth));
  }
}

SelectionPool::SelectionPool(const Members& members, const Labels& labels, Combination how)
    : SelectionPool(tables_of(members), labels, how) {}

RunningEnsemble::RunningEnsemble(const SelectionPool& pool) : pool_(&pool) {
  const auto width = static_cast<size_t>(pool.how() == Combination::logits ? pool.member(0).classes : 1);
  sums_.assign(static_cast<size_t>(pool.images()) * width, 0.0f);
}

void RunningEnsemble::add(size_t member) {
  members_.push_back(member);
  if (pool_->how() == Combination::probabilities) {
    const auto& truth = pool_->truth(member);
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += truth[i];
  } else {
    const auto& values = pool_->member(member).values;
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += logit(values[i]);
  }
}

double RunningEnsemble::loss() const {
  const auto count = static_cast<double>(members_.size());
  return pool_->how() == Combination::probabilities ? loss_of_probabilities(nullptr, count)
                                                    : loss_of_logits(nullptr, count);
}

double RunningEnsemble::loss_with(size_t member) const {
  const auto count = static_cast<double>(members_.size() + 1);
  return pool_->how() == Combination::probabilities ? loss_of_probabilities(pool_->truth(member).data(), count)
                                                    : loss_of_logits(&pool_->member(member), count);
}

double RunningEnsemble::loss_of_probabilities(const float* more, double count) const {
  const double least = kLeastProbability * count;
  const size_t n = sums_.size();
  double logarithms = 0;
  for (size_t start = 0; start < n; start += kTogether) {
    double product = 1;
    const size_t end = std::min(n, start + kTogether);
    if (more != nullptr) {
      for (size_t i = start; i < end; ++i) product *= std::max<double>(sums_[i] + more[i], least);
    } else {
      for (size_t i = start; i < end; ++i) product *= std::max<double>(sums_[i], least);
    }
    logarithms += std::log(product);
  }
  return std::log(count) - logarithms / static_cast<double>(n);
}

double RunningEnsemble::loss_of_logits(const Probabilities* more, double count) const {
  const auto classes = static_cast<size_t>(pool_->member(0).classes);
  const auto& labels = pool_->labels();
  std::vector<double> row(classes);
  double sum = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t c = 0; c < classes; ++c) {
      const size_t at = i * classes + c;
      row[c] = (sums_[at] + (more != nullptr ? logit(more->values[at]) : 0.0f)) / count;
    }
    const double largest = *std::max_element(row.begin(), row.end());
    double normaliser = 0;
    for (const double x : row) normaliser += std::exp(x - largest);
    const double log_p = row[static_cast<size_t>(labels[i])] - largest - std::log(normaliser);
    sum -= std::max(log_p, std::log(kLeastProbability));
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace nascent
