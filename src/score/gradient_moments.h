// Mean and variance of the images' own gradients by all parameters of a network: weights, biases, and scales and shifts
// of batch norms. One backward pass per batch gives all images' gradients; of these only sums are kept, so that memory
// does not grow with the number of images.
//
//   network.eval();  // running statistics are constants, so that images do not depend on one another
//   const Tape tape(network);
//   GradientMoments moments(tape);
//   for (const TensorBatch& batch : batches) moments.add(batch.images, batch.labels);
//   moments.total().variance;  // E |g_i - E g|^2
//
// The tape's passes are LibTorch's operations in any precision. Where the fused engine computes all of a network's
// cells, its backward pass gives the moments of their parameters several times as fast; the tape then sees to the
// layers before and behind the cells alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nascent/score/passes.h"

namespace nascent {

class EngineGradients;

// Gradients of every image apart, of some of a parameter's numbers.
struct ParameterPiece {
  std::string layer{}, parameter{};  // "cell0.pre0.1", "cell0.pre0.1.weight"
  std::vector<int64_t> sizes{};      // of the whole parameter
  int64_t first = 0;                 // place of the piece among the parameter's numbers
  at::Tensor gradients{};            // [N, numbers]; in an order of their own where they are of a convolution's weight
  const Step* convolution = nullptr;

  // A row of numbers in the parameter's order.
  at::Tensor in_order(const at::Tensor& row) const;
};
using PieceVisitor = std::function<void(const ParameterPiece& piece)>;

// Calls `visit` with the gradients of all parameters that a path joins to the logits, piece by piece. `seed` is the
// gradient of the logits. Where the tape does not evaluate, the batch's statistics are taken as constants.
void for_each_sample_gradient(const Tape& tape, const Trace& trace, const at::Tensor& seed, const PieceVisitor& visit);

// What a batch says about some of a parameter's numbers.
struct BatchMoments {
  std::string layer{}, parameter{};
  std::vector<int64_t> sizes{};   // of the whole parameter
  int64_t first = 0;              // place of the piece among the parameter's numbers
  at::Tensor mean{};              // over the images, in the parameter's order, in double precision
  std::vector<double> squares{};  // by image: squared norms
  double deviations = 0;          // sum of squared distances from the mean
};

// Calls `visit` with the moments of all pieces of a step's parameters, from what it read and the gradient of what it
// made; `norm` is that of a batch norm.
using MomentsVisitor = std::function<void(const BatchMoments& batch)>;
void for_each_moment(const Tape& tape, const Step& step, const at::Tensor& x, const Trace::Norm& norm,
                     const at::Tensor& gradient, const MomentsVisitor& visit);

class GradientMoments {
 public:
  // Of one layer, or of all together.
  struct Moments {
    double mean_square = 0;  // E |g_i|^2
    double variance = 0;     // E |g_i - E g|^2
  };

  // `tape` must outlive this.
  explicit GradientMoments(const Tape& tape) : tape_(tape) {}
  // By the engine where it can, else by the tape, which is that of `network`. Both must outlive this.
  GradientMoments(const Tape& tape, Network& network);

  // Adds the gradients of the cross-entropies of these images, each by itself.
  void add(const at::Tensor& images, const at::Tensor& labels);

  int64_t images() const { return images_; }
  Moments total() const;
  // By the names of Tape::layers(). What no path joins to the logits has no gradient and is left out here and below.
  std::map<std::string, Moments> layers() const;
  // |g_i|^2 of every image in the order in which they were added: in total, and of one layer.
  std::vector<double> squared_norms() const;
  const std::vector<double>& squared_norms(const std::string& layer) const;
  // E g by parameter, in double precision.
  const std::map<std::string, at::Tensor>& mean() const { return means_; }

 private:
  struct LayerSums {
    std::vector<double> squared_norms;  // by image
    double deviations = 0;              // sum of |g_i - mean|^2
  };

  void add(const BatchMoments& batch);
  Moments moments_of(const LayerSums& sums) const;

  const Tape& tape_;
  std::shared_ptr<const EngineGradients> engine_;  // null: by the tape
  int64_t images_ = 0;
  std::map<std::string, at::Tensor> means_;
  std::map<std::string, LayerSums> layers_;
};

}  // namespace nascent
