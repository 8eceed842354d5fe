#include "nascent/attack/attacked.h"

#include <ATen/ATen.h>

namespace nascent {

at::Tensor rows_of(const at::Tensor& flags) { return at::nonzero(flags).view({-1}); }

Attacked Attacked::select(const at::Tensor& rows) const {
  Attacked some{images.index_select(0, rows), labels.index_select(0, rows), {}, {}, targeted};
  if (aims.defined()) some.aims = aims.index_select(0, rows);
  const int64_t* row = rows.data_ptr<int64_t>();
  for (int64_t i = 0; i < rows.numel(); ++i) some.indices.push_back(indices[row[i]]);
  return some;
}

Attacked Attacked::towards(const at::Tensor& classes) const {
  Attacked other = *this;
  other.aims = classes;
  return other;
}

at::Tensor Attacked::fooled(const at::Tensor& logits) const {
  const at::Tensor answers = logits.argmax(1);
  return targeted ? answers.eq(aims) : answers.ne(labels);
}

Remaining::Remaining(const Attacked& all, bool leave)
    : leave_(leave),
      now_(all),
      places_(at::arange(all.size(), at::kLong)),
      outcome_{all.images.clone(), at::zeros({all.size()}, at::kBool)} {}

void Remaining::keep(const at::Tensor& rows, const at::Tensor& images, bool fooled) {
  const at::Tensor places = places_.index_select(0, rows);
  outcome_.images.index_copy_(0, places, images.index_select(0, rows));
  if (fooled) outcome_.fooled.index_fill_(0, places, true);
}

std::optional<at::Tensor> Remaining::leave(const at::Tensor& images, const at::Tensor& fooled) {
  if (!leave_ || !fooled.any().item<bool>()) return std::nullopt;
  keep(rows_of(fooled), images, true);
  const at::Tensor rows = rows_of(fooled.logical_not());
  now_ = now_.select(rows);
  places_ = places_.index_select(0, rows);
  return rows;
}

void Remaining::finish(const at::Tensor& images, const at::Tensor& fooled) {
  const at::Tensor before = outcome_.fooled.index_select(0, places_);
  keep(rows_of(fooled.logical_and(before.logical_not())), images, true);
  // An image that was never fooled keeps the last try of the first start.
  if (!finished_) keep(rows_of(fooled.logical_or(before).logical_not()), images, false);
  finished_ = true;
  if (!leave_) return;
  const at::Tensor rows = rows_of(fooled.logical_not());
  now_ = now_.select(rows);
  places_ = places_.index_select(0, rows);
}

}  // namespace nascent
