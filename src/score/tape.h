// A discrete network as a flat list of steps over numbered values: what the passes of src/score walk, forwards and
// backwards, without LibTorch's autograd.
//
//   Network network(plan, seed, "lecun");
//   Tape tape(network);
//
// Steps are those of the network, with three savings: what is computed twice from the same value (the ReLUs of several
// edges) stands there once, what is zero (`none`, and convolutions of it) not at all, and a factorised reduce is taken
// apart into two convolutions.
//
// As in the network, batch norms take the statistics of the batch in training mode and the running ones in evaluation
// mode, whichever the network is in when the tape is made. Weights are the network's own: change them in place and
// the tape has changed.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "nascent/nn/layer.h"
#include "nascent/nn/network.h"

namespace nascent {

enum class StepKind {
  relu,
  conv,
  batch_norm,
  max_pool,
  avg_pool,
  shift,
  zeros,  // where something that does not keep a zero a zero (a bias, a norm's shift) is applied to one
  truncate,
  global_avg_pool,
  linear,
  function,  // computed and differentiated by LibTorch: of stages without weights that have no step of their own
  add,
  scale,
  concat
};

struct Step {
  StepKind kind{};
  std::vector<int> in{};  // values read
  int out = -1;           // value made
  Stage stage{};          // of all kinds but shift, zeros, add, scale and concat
  at::Tensor weight{};    // of conv and linear; the network's own
  at::Tensor bias{};      // of linear, of conv where it has one, and of an affine batch norm (its shift)
  at::Tensor scale{};     // of an affine batch norm
  at::Tensor running_mean{}, running_var{};  // of a batch norm
  int layer = -1;                            // of all that have parameters: index in Tape::layers()
  int first_row = 0;          // of a conv that has only some rows of its layer's weight (factorised reduce)
  double factor = 1;          // of scale
  std::vector<int> widths{};  // of concat: the channels of each part; a part that is -1 is zero. Of zeros: their shape
  bool live = false;          // whether the result reaches the logits
};

// Some of a supernet's candidates, by their place among the space's operations: per cell type and site.
using Candidates = std::map<std::string, std::vector<std::vector<int>>>;

class Tape {
 public:
  // An Error if the network is a supernet.
  explicit Tape(const Network& network);
  // Of a supernet in which only these candidates are left: an edge gives their mean.
  Tape(const Network& supernet, const Candidates& left);

  const std::vector<Step>& steps() const { return steps_; }
  int values() const { return static_cast<int>(shapes_.size()); }
  const Shape& shape(int value) const { return shapes_[value]; }
  // Names of the network's layers, in the order of its plan: "cell0.node2.from1.sep_conv_3x3.1".
  const std::vector<std::string>& layers() const { return layers_; }
  // How many rows the weight of a layer has.
  int rows(int layer) const { return rows_[layer]; }
  // Whether batch norms take running statistics: the network was in evaluation mode.
  bool evaluates() const { return evaluates_; }
  // Value 0 is the image; what is zero whatever the images has no number of its own.
  static constexpr int kImage = 0, kZero = -1;
  // False where no path leads from the image to the logits: these are then constant, and logits() and features() are
  // -1.
  bool is_connected() const { return logits_ >= 0; }
  int logits() const { return logits_; }
  // What the last pooling over all pixels reads: the features before the classifier.
  int features() const { return features_; }
  // Whether a backward or second-order pass reads the value again.
  bool is_kept(int value) const { return kept_[value]; }
  // The last step that reads the value.
  int last_use(int value) const { return last_use_[value]; }

  // How many ReLU layers of the network each step stands for, and how many units of ReLUs see nothing but zeros.
  int copies(size_t step) const { return copies_[step]; }
  int64_t idle_units() const { return idle_units_; }

  // The tape of the network whose weights are the absolute values of this one's, in double precision, without batch
  // norms and biases (SynFlow).
  Tape absolute() const;

 private:
  friend class TapeBuilder;
  friend class TapeWalk;

  std::vector<Step> steps_;
  std::vector<std::string> layers_;
  std::vector<int> rows_;
  bool evaluates_ = false;
  std::vector<int> copies_;
  std::vector<Shape> shapes_;  // of every value
  std::vector<bool> kept_;
  std::vector<int> last_use_;
  int logits_ = -1, features_ = -1;
  int64_t idle_units_ = 0;
};

}  // namespace nascent
