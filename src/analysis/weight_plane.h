// A trained network whose weights are moved about: along random directions, along a line to another model, and back to
// where they were, to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/nn/network.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/weights.h"

namespace nascent {

// One tensor per parameter of a network, in the order of named_parameters().
using Direction = std::vector<at::Tensor>;

// Gaussian numbers from a stream named by the parameter, so that networks that share a layer share its direction. With
// `filters` every filter gets the length of the network's own; biases and the parameters of norms stay where they are
// (Li et al. 2018). `number` tells directions apart.
Direction random_direction(const Network& network, uint64_t seed, int number, bool filters = true);

class WeightPlane {
 public:
  explicit WeightPlane(Network& network);
  ~WeightPlane();  // puts the weights back
  WeightPlane(const WeightPlane&) = delete;
  WeightPlane& operator=(const WeightPlane&) = delete;

  // weights = start + sum of steps[i] * directions[i]; all steps zero gives the start to the bit. Running statistics
  // are put back as they were.
  void move(const std::vector<const Direction*>& directions, const std::vector<double>& steps);
  void restore();
  const Weights& start() const { return start_; }

 private:
  Weights own_, start_;  // the network's tensors, and copies of them
  size_t parameters_;    // how many of them are parameters; they come first
};

// Images in memory, loaded once.
using ImageBatches = std::vector<TensorBatch>;
ImageBatches load_batches(Loader& loader, const Network& network, int64_t most = 0);
int64_t count_images(const ImageBatches& batches);

// Where the norms' statistics come from when weights are moved.
enum class Norms {
  running,       // as training left them
  recalibrated,  // computed anew at the moved weights
  batch          // of the batch that is evaluated, as in training
};
Norms norms_named(const std::string& name);

// The mean and variance of all images of `batches`, written into every norm's running statistics.
void recalibrate(Network& network, const ImageBatches& batches);

// As evaluate() over a loader, number by number.
Evaluation evaluate_batches(Network& network, const ImageBatches& batches, Norms norms = Norms::running,
                            const ImageBatches& calibration = {});

}  // namespace nascent
