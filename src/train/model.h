// A trained network in one file: everything it takes to score images with it, the name and place of its data included.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nascent/data/data_options.h"
#include "nascent/data/statistics.h"
#include "nascent/nn/network.h"
#include "nascent/space/genotype.h"
#include "nascent/train/state.h"

namespace nascent {

// Options that name no data set.
inline DataOptions unknown_data() {
  DataOptions data;
  data.name.clear();
  return data;
}

struct Model {
  Genotype genotype;
  NetworkOptions network_options;  // as asked for; the plan that they led to is saved too, and is what is built again
  Shape input;
  std::vector<std::string> class_names;
  std::vector<std::string> eval_transforms;
  ChannelStatistics statistics;
  DataOptions data = unknown_data();  // what it was trained on, as far as finding it again needs (train/model_data.h);
                                      // the name is empty where the file does not say
  uint64_t data_seed = 0;             // chose the images, where not all are used, and makes those of 'random'
  Json results = Json::object();      // accuracies and options it was trained with
  std::shared_ptr<Network> network;
};

// A model as what its file holds, and back.
State model_state(const Model& model);
Model model_in(const State& state);

void save_model(const Model& model, const std::filesystem::path& path);
// Of a model file, or of a run folder that holds one. The network comes back in evaluation mode. Needs no other file:
// neither the space's nor the data's.
Model load_model(const std::filesystem::path& path);

// The file that load_model reads: `path` itself, or the model of the run that it is the folder of.
std::filesystem::path model_file(const std::filesystem::path& path);

}  // namespace nascent
