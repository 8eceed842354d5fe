#include "nascent/ensemble/soup.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

void require_one_training(const std::vector<Model>& snapshots) {
  if (snapshots.empty()) fail("A soup needs at least one snapshot.");
  const Json first = snapshots[0].results.value("training", Json());
  for (size_t i = 0; i < snapshots.size(); ++i) {
    const Json training = snapshots[i].results.value("training", Json());
    if (training.is_null() || training != first) {
      fail(
          "Model {} is not a snapshot of the same training as model 1. Weights of different trainings lie in "
          "different valleys of the loss, and their average is no network; take snapshots of one training (method "
          "'snapshot'), or combine the predictions instead.",
          i + 1);
    }
  }
}

Model average(const std::vector<Model>& snapshots, const std::vector<size_t>& chosen) {
  Model result = snapshots[chosen[0]];
  result.network = std::make_shared<Network>(result.network->plan(), /*seed=*/0);
  result.network->eval();
  const Weights target = weights_of(*result.network);
  at::NoGradGuard no_grad;
  for (size_t t = 0; t < target.size(); ++t) {
    at::Tensor sum = at::zeros_like(target[t].second, at::kDouble);
    for (const size_t i : chosen) sum += weights_of(*snapshots[i].network)[t].second.to(at::kDouble);
    at::Tensor(target[t].second).copy_(sum / static_cast<double>(chosen.size()));
  }
  return result;
}

}  // namespace

Soup greedy_soup(const std::vector<Model>& snapshots, const std::function<double(const Model&)>& accuracy) {
  require_one_training(snapshots);
  std::vector<double> alone;
  for (const Model& snapshot : snapshots) alone.push_back(accuracy(snapshot));
  std::vector<size_t> order(snapshots.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return alone[a] > alone[b]; });
  Soup soup{average(snapshots, {order[0]}), {order[0]}, alone[order[0]]};
  for (size_t i = 1; i < order.size(); ++i) {
    std::vector<size_t> more = soup.ingredients;
    more.push_back(order[i]);
    Model candidate = average(snapshots, more);
    const double reached = accuracy(candidate);
    if (reached >= soup.accuracy) soup = {std::move(candidate), std::move(more), reached};
  }
  return soup;
}

}  // namespace nascent
