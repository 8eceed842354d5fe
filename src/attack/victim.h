// What is attacked: a classifier of images whose pixels run from 0 to 1, differentiable by its images.
//
//   const auto victim = model_victim(load_model("model.nascent"), "model");
//   const at::Tensor logits = victim->logits(images);
//   const auto [answers, loss, gradient] = victim->gradient(images, cross_entropy(attacked));
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/shape.h"
#include "nascent/train/model.h"

namespace nascent {

class Victim {
 public:
  // One value per image, to be differentiated.
  using Loss = std::function<at::Tensor(const at::Tensor& logits)>;
  struct Gradient {
    at::Tensor logits;  // of the last pass, without a graph
    at::Tensor loss;    // [images]
    at::Tensor images;  // shaped like the images
  };

  explicit Victim(std::string name) : name_(std::move(name)) {}
  virtual ~Victim() = default;

  // [images, classes] of images [N, C, H, W]; differentiable where autograd is on.
  virtual at::Tensor forward(const at::Tensor& images) const = 0;
  virtual int64_t classes() const = 0;
  const std::string& name() const { return name_; }

  at::Tensor logits(const at::Tensor& images) const;
  // Means over `passes`, for victims that answer at random. An Error where the answers have no gradient.
  Gradient gradient(const at::Tensor& images, const Loss& loss, int passes = 1) const;

 private:
  Gradient one_gradient(const at::Tensor& images, const Loss& loss) const;

  std::string name_;
};

using VictimPointer = std::shared_ptr<const Victim>;

// One pass of MC DropPath: which paths are dropped depends on the seed alone and is the same for all images.
struct DroppedPaths {
  double probability = 0;
  uint64_t seed = 0;
};
// A network of ours in evaluation mode, that drops paths nonetheless where it is told to. `statistics` are those that
// it wants its images normalised with; its parameters lose their gradients.
VictimPointer network_victim(std::shared_ptr<Network> network, const ChannelStatistics& statistics, std::string name,
                             const DroppedPaths& dropped = {});
// How an ensemble makes one answer of its members'.
struct Averaging {
  std::vector<double> weights{};  // of the members, 0 or more; empty: all the same
  bool of_logits = false;         // averages logarithms of probabilities, not probabilities
  double temperature = 1;         // that every member's logits are divided by first

  bool plain() const { return weights.empty() && !of_logits && temperature == 1; }
};
// The logarithm of the members' mean probability, unless the ensemble averages otherwise.
VictimPointer ensemble_victim(std::vector<VictimPointer> members, std::string name, Averaging averaging = {});
// A TorchScript file; without statistics its images are not normalised. An Error where it is none, or does not answer
// images of this shape with one row of logits each.
VictimPointer script_victim(const std::filesystem::path& path, const ChannelStatistics& statistics, const Shape& input,
                            std::string name);
// Takes images whose channels are divided by `scale`: distances between them are in these units.
VictimPointer scaled_victim(VictimPointer victim, const std::vector<double>& scale);

// [1, C, 1, 1], to be broadcast over images.
at::Tensor by_channel(const std::vector<double>& values);

}  // namespace nascent
