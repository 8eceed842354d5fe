#include "nascent/score/agreement.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/correlation.h"
#include "nascent/core/random.h"

namespace nascent {

namespace {

// Correlations of ranks need numbers; infinities and NaN rank last.
std::vector<double> finite(std::vector<double> values) {
  for (double& value : values) {
    if (!std::isfinite(value)) value = 1e300;
  }
  return values;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

class Bounds {
 public:
  Bounds(const std::vector<double>& metric, const std::vector<double>& errors, int tries, uint64_t seed)
      : metric_(metric), errors_(errors), tries_(tries), seed_(seed) {
    for (const double m : metric) {
      if (std::isfinite(m)) squares_.push_back(m * m);
    }
    std::sort(squares_.begin(), squares_.end());
  }

  Agreement agreement(const std::vector<double>& bound) const {
    const auto values = finite(bound);
    return {spearman(values, errors_), kendall(values, errors_)};
  }

  // numerator / M + mu (M^2 - nu)^2
  std::vector<double> bound(const std::vector<double>& numerator, double mu, double nu) const {
    std::vector<double> result(metric_.size());
    for (size_t i = 0; i < result.size(); ++i) {
      const double excess = metric_[i] * metric_[i] - nu;
      result[i] = numerator[i] / metric_[i] + mu * excess * excess;
    }
    return result;
  }

  Agreement best(const std::vector<double>& numerator, double* best_mu, double* best_nu) const {
    const double spread = squares_[squares_.size() * 3 / 4] - squares_[squares_.size() / 4];
    const double usual = median(finite(bound(numerator, 0, 0)));
    // From where the trade-off is felt for the largest metric alone to where hardly anything else counts.
    const double low = std::log(usual / std::max(1e-300, squares_.back() * squares_.back()));
    const double high = std::log(1e4 * usual / std::max(1e-300, spread * spread));
    RandomStream random(seed_, "bound parameters");
    double highest = spearman(finite(bound(numerator, 0, 0)), errors_);  // mu = 0: no trade-off
    *best_mu = *best_nu = 0;
    for (int i = 0; i < tries_; ++i) {
      const double mu = std::exp(random.uniform(low, high));
      const double nu = squares_[static_cast<size_t>(random.uniform() * static_cast<double>(squares_.size()))];
      const double found = spearman(finite(bound(numerator, mu, nu)), errors_);
      if (!(found > highest)) continue;
      highest = found;
      *best_mu = mu;
      *best_nu = nu;
    }
    return agreement(bound(numerator, *best_mu, *best_nu));
  }

 private:
  const std::vector<double>&metric_, &errors_;
  int tries_;
  uint64_t seed_;
  std::vector<double> squares_;  // of the metric, ascending
};

}  // namespace

BoundAgreement bound_agreement(const std::vector<double>& metric, const std::vector<double>& kappa,
                               const std::vector<double>& errors, int tries, uint64_t seed) {
  const Bounds bounds(metric, errors, tries, seed);
  const std::vector<double> ones(metric.size(), 1.0);
  BoundAgreement result;
  double mu = 0, nu = 0;
  result.realisable = bounds.agreement(bounds.bound(ones, 0, 0));
  result.trade_off = bounds.best(ones, &mu, &nu);
  result.with_kappa = bounds.agreement(bounds.bound(kappa, 0, 0));
  result.whole = bounds.best(kappa, &result.mu, &result.nu);
  return result;
}

double as_bound(const std::string& metric, double value) {
  return metric == "synflow" ? std::exp(value) : std::abs(value);
}

}  // namespace nascent
