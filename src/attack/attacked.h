// The images of a batch under attack: which there are, which of them are left, and what became of each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace nascent {

struct Attacked {
  at::Tensor images;             // [N, C, H, W], clean
  at::Tensor labels;             // [N]
  std::vector<int64_t> indices;  // in the data set: what an attack draws at random depends on them
  at::Tensor aims{};             // [N], the classes to move towards; undefined: away from the label
  bool targeted = false;         // an image is fooled when it reaches its aim, not when it leaves its label

  int64_t size() const { return labels.size(0); }
  Attacked select(const at::Tensor& rows) const;
  Attacked towards(const at::Tensor& classes) const;
  at::Tensor fooled(const at::Tensor& logits) const;  // [N] of bool
};

// What an attack made of a batch.
struct Outcome {
  at::Tensor images;   // adversarial; where the attack failed, its last try or the clean image
  at::Tensor fooled;   // [N] of bool
  at::Tensor parts{};  // [N]: which part of a cascade did it, -1: none; undefined where there are no parts
};

// Positions of the true entries.
at::Tensor rows_of(const at::Tensor& flags);

// Images leave the batch when they are fooled, unless they are to stay to the end, for examples that move others too.
class Remaining {
 public:
  Remaining(const Attacked& all, bool leave);

  const Attacked& now() const { return now_; }
  bool empty() const { return now_.size() == 0; }

  // Told what images have become and which are fooled; gives the rows that go on where some leave.
  std::optional<at::Tensor> leave(const at::Tensor& images, const at::Tensor& fooled);
  // The last images of those that are left. May come again, after another start: then only what is newly fooled counts.
  void finish(const at::Tensor& images, const at::Tensor& fooled);

  const Outcome& outcome() const { return outcome_; }

 private:
  void keep(const at::Tensor& rows, const at::Tensor& images, bool fooled);

  bool leave_, finished_ = false;
  Attacked now_;
  at::Tensor places_;  // of what is left, in the whole batch
  Outcome outcome_;
};

}  // namespace nascent
