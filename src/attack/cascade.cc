#include "nascent/attack/cascade.h"

#include <ATen/ATen.h>

namespace nascent {

Cascade::Cascade(std::vector<Part> parts) : Attack(parts.front().settings), parts_(std::move(parts)) {}

Outcome Cascade::run(const Victim& victim, const Attacked& attacked, const Threat& threat) const {
  Outcome outcome{attacked.images.clone(), at::zeros({attacked.size()}, at::kBool),
                  at::full({attacked.size()}, -1, at::kLong)};
  for (size_t part = 0; part < parts_.size(); ++part) {
    const at::Tensor rows = rows_of(outcome.fooled.logical_not());
    if (rows.numel() == 0) break;
    const auto& [name, settings] = parts_[part];
    const auto& entry = Attack::Registry::instance().at(name);
    const Outcome found =
        attack_batch(*entry.make(settings), entry.facts, settings, victim, attacked.select(rows), threat);
    // What fails first is kept as a try; then only what succeeds.
    const at::Tensor taken = part == 0 ? at::arange(rows.numel(), at::kLong) : rows_of(found.fooled);
    outcome.images.index_copy_(0, rows.index_select(0, taken), found.images.index_select(0, taken));
    const at::Tensor fooled = rows.index_select(0, rows_of(found.fooled));
    outcome.fooled.index_fill_(0, fooled, true);
    outcome.parts.index_fill_(0, fooled, static_cast<int64_t>(part));
  }
  return outcome;
}

}  // namespace nascent
