// Runs for tests: a directory that goes away, a genotype, and the events a search would emit.
#pragma once

#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "nascent/core/events.h"
#include "nascent/run/run_directory.h"
#include "nascent/space/genotype.h"
#include "temporary_folder.h"

namespace nascent {

using TemporaryDirectory = TemporaryFolder;

struct SampleOptions {
  int epochs = 50;
  double lr = 0.025;
  std::string data = "cifar10";
  std::vector<std::string> transforms = {"flip", "crop"};
  void declare(OptionTable& table) {
    auto section = table.section("search", "The search.");
    section.add("epochs", epochs, "passes over the training data").range(1, 1000);
    section.add("lr", lr, "learning rate of the weights");
    auto data_section = table.section("data", "The data.");
    data_section.add("set", data, "name of the data set");
    data_section.add("transforms", transforms, "what is done to each image");
  }
};

inline RunDescription sample_description() {
  return {.verb = "search",
          .name = "darts",
          .version = "0.1.0",
          .command = {"nascent", "search", "--space", "darts"},
          .facts = {{"Data set", "cifar10"}, {"Space", "darts"}, {"Recipe", "darts"}}};
}

inline CellGenotype sample_cell(const std::string& type, const std::vector<std::string>& ops) {
  CellGenotype cell{type, 2, {}, {2, 3, 4, 5}};
  for (int node = 0; node < 4; ++node) {
    cell.nodes.push_back({{{0, ops[node % ops.size()]}, {node + 1, ops[(node + 1) % ops.size()]}}, ""});
  }
  return cell;
}

inline Genotype sample_genotype() {
  return {"darts",
          {sample_cell("normal", {"sep_conv_3x3", "skip_connect", "dil_conv_3x3"}),
           sample_cell("reduce", {"max_pool_3x3", "sep_conv_5x5", "skip_connect"})}};
}

// Weights that drift from uniform to one operation per site.
inline Json sample_weights(int sites, int ops, double progress, double phase) {
  Json rows = Json::array(), entropies = Json::array();
  for (int site = 0; site < sites; ++site) {
    std::vector<double> weights(ops);
    double sum = 0, entropy = 0;
    for (int op = 0; op < ops; ++op)
      sum += weights[op] = std::exp(2.5 * progress * std::sin(site * (phase + 1) + op * 1.7 + phase));
    for (auto& weight : weights) weight /= sum, entropy -= weight * std::log(weight);
    rows.push_back(weights);
    entropies.push_back(entropy);
  }
  return {{"probabilities", rows}, {"entropy", entropies}};
}

inline void emit_sample_epoch(EventSink& events, int64_t epoch, int64_t epochs, int64_t steps) {
  const double progress = (epoch + 1.0) / epochs;
  for (int64_t i = 1; i <= steps; ++i) {
    const double noise = 0.2 * std::sin(12.9898 * (epoch * steps + i));
    events.emit({"step", epoch, epoch * steps + i, {{"loss", 2.3 * std::exp(-2 * progress) + noise}, {"lr", 0.025}}});
  }
  const int64_t step = (epoch + 1) * steps;
  events.emit({"epoch",
               epoch,
               step,
               {{"train_loss", 2.3 * std::exp(-2.2 * progress)},
                {"train_top1", 92 * (1 - std::exp(-3 * progress))},
                {"valid_loss", 2.3 * std::exp(-1.8 * progress)},
                {"valid_top1", 88 * (1 - std::exp(-3 * progress))},
                {"lr", 0.0125 * (1 + std::cos(M_PI * progress))},
                {"skips", 2 + epoch % 3},
                {"seconds", 61.5 + epoch % 4}}});
  const Json ops = {"none",         "max_pool_3x3", "avg_pool_3x3", "skip_connect",
                    "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5"};
  events.emit(
      {"architecture",
       epoch,
       step,
       {{"ops", ops},
        {"cells",
         {{"normal", sample_weights(14, 8, progress, 2)}, {"reduce", sample_weights(14, 8, 0.8 * progress, 3)}}}}});
}

}  // namespace nascent
