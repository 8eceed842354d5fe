// A greedy soup (Wortsman et al. 2022): the average of weights of one training's snapshots, as long as it helps.
#pragma once

#include <functional>
#include <vector>

#include "nascent/train/model.h"

namespace nascent {

struct Soup {
  Model model{};                      // the averaged weights
  std::vector<size_t> ingredients{};  // in the order they were added
  double accuracy = 0;
};

// `accuracy` judges a model on held-out images. Snapshots are tried from the best down; one stays where the average
// with it is no worse. Statistics of batch norms do not average: `settle`, where given, gathers them anew for every
// average. An Error where the models are not snapshots of one training: weights of different seeds lie in different
// valleys, and their average is no network.
Soup greedy_soup(const std::vector<Model>& snapshots, const std::function<double(const Model&)>& accuracy,
                 const std::function<void(Model&)>& settle = {});

struct SoupOptions {
  std::vector<std::string> models{};  // snapshots, or the run that left them
  std::string output = "soup.nascent";
  DataOptions data = unknown_data();  // without a name: the snapshots' own
  int threads = 0;

  void declare(OptionTable& table);
};

// Judges by the images that the training held out, and writes the soup as a model. What it came to.
Json make_soup(const SoupOptions& options);

}  // namespace nascent
