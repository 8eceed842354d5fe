#include "nascent/search/trained_validation.h"

#include <chrono>

#include "nascent/core/error.h"
#include "nascent/core/log.h"

namespace nascent {

namespace {

// Everything that an outcome depends on, in the words of the options.
Json settings_of(TrainedValidationSetup setup) {
  OptionTable table;
  setup.data.declare(table);
  setup.network.declare(table);
  setup.train.declare(table);
  Json settings = table.to_json();
  settings["train"].erase("epochs");  // the budget says how many
  settings["data"].erase("workers");
  settings["data"].erase("path");  // what lies there counts, not where
  const ChannelStatistics& statistics = setup.images.statistics();
  settings["images"] = {setup.images.describe(), statistics.mean, statistics.deviation};
  settings["skeleton"] = setup.space->skeleton();
  settings["seed"] = setup.seed;
  return settings;
}

}  // namespace

TrainedValidation::TrainedValidation(const TrainedValidationSetup& setup, const std::filesystem::path& folder)
    : setup_(setup) {
  if (setup.images.split().valid.empty()) {
    fail(
        "Architectures are judged by images that they were not trained on, and none are set aside: give "
        "--valid-fraction, such as 0.5.");
  }
  cache_ = folder.empty() ? std::make_unique<ScoreCache>()
                          : std::make_unique<ScoreCache>(folder, setup.space->name(), settings_of(setup));
}

Validated TrainedValidation::validate(const Genotype& genotype, const Budget& budget) {
  const std::string accuracy = "valid" + budget.text(), seconds = "seconds" + budget.text();
  Scores outcome = cache_->find(genotype);
  const bool known = outcome.contains(accuracy);
  if (!known) {
    const auto start = std::chrono::steady_clock::now();
    outcome[accuracy] = trained_accuracy(genotype, budget);
    outcome[seconds] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cache_->add(genotype, outcome);
  }
  log::info("{:6.2f} % after {} epochs, {:.0f} s{}: {}", outcome[accuracy], budget.text(), outcome[seconds],
            known ? ", known before" : "", ScoreCache::key(genotype));
  return {outcome[accuracy], outcome[seconds]};
}

double TrainedValidation::trained_accuracy(const Genotype& genotype, const Budget& budget) const {
  const ImageData& images = setup_.images;
  const NetworkPlan plan = plan_network(*setup_.space, genotype, setup_.network, images.shape(), images.classes());
  TrainOptions train = setup_.train;
  train.epochs = budget.epochs;
  Trainer trainer(std::make_shared<Network>(plan, setup_.seed), images.training(images.split().train, "train"),
                  images.evaluation(images.split().valid), train, setup_.network.drop_path, setup_.seed);
  run_job(trainer, {});
  return trainer.last().top1;
}

}  // namespace nascent
