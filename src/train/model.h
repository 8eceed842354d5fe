// A trained network in one file: everything `nascent eval` needs to score images with it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nascent/data/statistics.h"
#include "nascent/nn/network.h"
#include "nascent/space/genotype.h"

namespace nascent {

struct Model {
  Genotype genotype;
  NetworkOptions network_options;  // as asked for; the plan that they led to is saved too, and is what is built again
  Shape input;
  std::vector<std::string> class_names;
  std::vector<std::string> eval_transforms;
  ChannelStatistics statistics;
  Json results = Json::object();  // accuracies and options it was trained with
  std::shared_ptr<Network> network;
};

void save_model(const Model& model, const std::filesystem::path& path);
// The network comes back in evaluation mode. Needs no other file: neither the space's nor the data's.
Model load_model(const std::filesystem::path& path);

}  // namespace nascent
