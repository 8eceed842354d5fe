// What one forward and backward pass through a network in evaluation mode says about the gradients of single images,
// by which it is not asked to be differentiated one by one.
//
//   MyObserver observer;
//   const SampleObserverScope scope(observer);
//   network.forward(images);  // and a backward pass from the sum of all images' losses
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace nascent {

class Layer;

class SampleObserver {
 public:
  virtual ~SampleObserver() = default;

  // In the forward pass: a layer outside of cells has made `y` from `x`.
  virtual void layer_applied(const Layer& layer, const at::Tensor& x, const at::Tensor& y) = 0;
  // In the backward pass of a cell, if the engine computes all of it: the squared norms of the images' own gradients of
  // a parameter, and the sum of their squared distances from their mean.
  virtual void cell_differentiated(const at::Tensor& parameter, std::vector<double> squares, double deviations) = 0;
};

// That of the forward passes of this thread; null: none.
SampleObserver* sample_observer();

// Observes forward passes of this thread, and the backward passes that follow from them, while it lives.
class SampleObserverScope {
 public:
  explicit SampleObserverScope(SampleObserver& observer);
  ~SampleObserverScope();
  SampleObserverScope(const SampleObserverScope&) = delete;

 private:
  SampleObserver* before_;
};

}  // namespace nascent
