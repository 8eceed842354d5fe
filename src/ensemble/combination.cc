#include "nascent/ensemble/combination.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

std::vector<double> shares(size_t members, std::span<const double> weights) {
  std::vector<double> shares(weights.begin(), weights.end());
  if (shares.empty()) shares.assign(members, 1);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

void softmax(std::span<double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x - largest);
  for (double& x : row) x /= sum;
}

}  // namespace

const std::vector<std::string>& combination_names() {
  static const std::vector<std::string> names = {"probabilities", "logits"};
  return names;
}

Combination combination(const std::string& name) {
  if (name != "probabilities" && name != "logits")
    fail("Members cannot be combined by '{}'. Known: {}.", name, join(combination_names(), ", "));
  return name == "logits" ? Combination::logits : Combination::probabilities;
}

std::vector<const Probabilities*> tables_of(const Members& members) {
  std::vector<const Probabilities*> tables;
  for (const Probabilities& member : members) tables.push_back(&member);
  return tables;
}

void check_members(std::span<const Probabilities* const> members, const Labels& labels) {
  if (members.empty()) fail("An ensemble needs at least one member.");
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i]->classes != members[0]->classes) {
      fail("Member {} has {} classes, member 1 has {}; all members of an ensemble must be trained on the same classes.",
           i + 1, members[i]->classes, members[0]->classes);
    }
    if (members[i]->images != static_cast<int64_t>(labels.size())) {
      fail("Member {} was asked about {} images, but there are {} labels.", i + 1, members[i]->images, labels.size());
    }
  }
}

void check_members(const Members& members, const Labels& labels) { check_members(tables_of(members), labels); }

Probabilities combine(const Members& members, Combination how, std::span<const double> weights) {
  const std::vector<double> share = shares(members.size(), weights);
  Probabilities result{members[0].images, members[0].classes, {}};
  result.values.resize(members[0].values.size());
  std::vector<double> sum(static_cast<size_t>(result.classes));
  for (int64_t image = 0; image < result.images; ++image) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (size_t m = 0; m < members.size(); ++m) {
      const auto row = members[m].row(image);
      for (size_t c = 0; c < sum.size(); ++c) {
        const double p = row[c];
        sum[c] += share[m] * (how == Combination::logits ? std::log(std::max(p, kLeastProbability)) : p);
      }
    }
    if (how == Combination::logits) softmax(sum);
    std::transform(sum.begin(), sum.end(), result.row(image).begin(), [](double x) { return static_cast<float>(x); });
  }
  return result;
}

double negative_log_likelihood(const Probabilities& probabilities, const Labels& labels) {
  double sum = 0;
  for (int64_t i = 0; i < probabilities.images; ++i) {
    const double p = probabilities.row(i)[static_cast<size_t>(labels[static_cast<size_t>(i)])];
    sum -= std::log(std::max(p, kLeastProbability));
  }
  return sum / static_cast<double>(probabilities.images);
}

}  // namespace nascent
