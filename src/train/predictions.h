// What a network says about images: the probabilities of the classes, image by image. Everything about ensembles is
// computed from such tables and knows no network.
//
//   const Predictions found = predict(network, *data.testing());
//   found.probabilities.row(0)[3];  // of class 3 for the first image
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "nascent/data/loader.h"
#include "nascent/nn/network.h"

namespace nascent {

using Labels = std::vector<int64_t>;

struct Probabilities {
  int64_t images = 0, classes = 0;
  std::vector<float> values{};  // row by row

  std::span<const float> row(int64_t image) const {
    return {values.data() + image * classes, static_cast<size_t>(classes)};
  }
  std::span<float> row(int64_t image) { return {values.data() + image * classes, static_cast<size_t>(classes)}; }
};

struct Predictions {
  Probabilities probabilities{};
  Labels labels{};
};

// What batch norms go by: the statistics of each batch (shared weights: those gathered under other architectures do not
// fit), the running ones, or running ones gathered anew on images that are given for it.
enum class NormStatistics { batch, running, recalibrated };
NormStatistics norm_statistics(const std::string& name);
const std::vector<std::string>& norm_statistics_names();

struct PredictionOptions {
  NormStatistics norms = NormStatistics::running;
  int64_t images = 0;               // the first so many; 0: all
  Loader* recalibration = nullptr;  // for NormStatistics::recalibrated: its epoch 0
  int64_t recalibration_batches = 50;
  // Paths are dropped in evaluation too where it says so (MC DropPath); what is dropped differs from batch to batch.
  ForwardContext context{};
};

// Over the loader's epoch 0. Neither the network's mode nor its running statistics are changed.
Predictions predict(Network& network, Loader& loader, const PredictionOptions& options = {});

// Sets the running statistics of every batch norm that the mixture runs to the mean over some batches.
void recalibrate_norms(Network& network, Loader& loader, int64_t batches, const ForwardContext& context = {});

// Percent of the images whose most probable class is their label.
double top1(const Predictions& predictions);

void save_predictions(const Predictions& predictions, const std::filesystem::path& path);
Predictions load_predictions(const std::filesystem::path& path);

// Puts a network's buffers (running statistics) and its mode back when it goes.
class NetworkStateGuard {
 public:
  explicit NetworkStateGuard(Network& network);
  ~NetworkStateGuard();
  NetworkStateGuard(const NetworkStateGuard&) = delete;
  NetworkStateGuard& operator=(const NetworkStateGuard&) = delete;

 private:
  Network& network_;
  bool training_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;  // each with its copy
};

}  // namespace nascent
