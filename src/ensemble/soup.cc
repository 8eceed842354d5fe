#include "nascent/ensemble/soup.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/ensemble/ensemble_model.h"
#include "nascent/ensemble/member_images.h"
#include "nascent/nn/threads.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

void require_one_training(const std::vector<Model>& snapshots) {
  if (snapshots.empty()) fail("A soup needs at least one snapshot.");
  const auto training_of = [](const Model& model) { return model.results.value("training", Json()); };
  for (size_t i = 0; i < snapshots.size(); ++i) {
    if (!training_of(snapshots[i]).is_null() && training_of(snapshots[i]) == training_of(snapshots[0])) continue;
    fail(
        "Model {} is not a snapshot of {}. Weights of different trainings lie in different valleys of the loss, and "
        "their average is no network; take snapshots of one training (method 'snapshot'), or combine the predictions "
        "instead.",
        i + 1, i == 0 ? "a training" : "the training that model 1 is one of");
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

Soup greedy_soup(const std::vector<Model>& snapshots, const std::function<double(const Model&)>& accuracy,
                 const std::function<void(Model&)>& settle) {
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
    if (settle) settle(candidate);
    const double reached = accuracy(candidate);
    if (reached >= soup.accuracy) soup = {std::move(candidate), std::move(more), reached};
  }
  return soup;
}

void SoupOptions::declare(OptionTable& table) {
  auto section = table.section("soup", "Snapshots of one training as one network.");
  section.add("models", models, "snapshots, or the run that saved them; also accepted as arguments");
  section.add("output", output, "file for the averaged model");
  data.declare(table);
  table.section("run", "Where and how a run happens.")
      .add("threads", threads, "number of compute threads; 0: one per core")
      .range(0, 1024);
}

Json make_soup(const SoupOptions& options) {
  constexpr int64_t kSettling = 50;  // batches that norms are gathered on
  use_threads(options.threads);
  if (options.models.empty())
    fail("nascent ensemble soup: snapshots are missing: the run of a snapshot ensemble, or several snapshot files.");
  const EnsembleModel ensemble = gather_ensemble(options.models);
  const std::vector<Model>& snapshots = ensemble.members;
  const uint64_t seed = ensemble.first().data_seed;
  const auto images = [&](MemberImages which) { return member_images(snapshots[0], options.data, seed, which); };
  require_one_training(snapshots);
  const auto held_out = images(MemberImages::held_out), test = images(MemberImages::test),
             training = images(MemberImages::training);
  const auto accuracy = [&](const Model& model) { return evaluate(*model.network, *held_out).top1; };
  const Soup soup =
      greedy_soup(snapshots, accuracy, [&](Model& model) { recalibrate_norms(*model.network, *training, kSettling); });
  save_model(soup.model, options.output);
  std::vector<size_t> numbers;
  for (const size_t i : soup.ingredients) numbers.push_back(i + 1);
  return {{"snapshots", snapshots.size()},
          {"ingredients", numbers},
          {"valid_top1", soup.accuracy},
          {"best_valid_top1", accuracy(snapshots[soup.ingredients[0]])},
          {"test_top1", evaluate(*soup.model.network, *test).top1},
          {"last_test_top1", evaluate(*snapshots.back().network, *test).top1},
          {"model", options.output}};
}

}  // namespace nascent
