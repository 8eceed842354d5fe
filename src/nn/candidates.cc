#include "nascent/nn/candidates.h"

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"

namespace nascent {

// What follows a zero may have a bias.
bool is_zero(const Stages& stages) { return !stages.empty() && stages.back().kind == StageKind::zero; }

bool can_drop(const std::vector<Stages>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [](const Stages& stages) { return !stages.empty() && !is_zero(stages); });
}

std::vector<int> running_candidates(const std::vector<Stages>& candidates, int site,
                                    const std::vector<std::vector<int>>& active) {
  std::vector<int> indices(candidates.size());
  std::iota(indices.begin(), indices.end(), 0);
  if (site >= 0 && !active.empty()) indices = active[site];
  const int count = static_cast<int>(candidates.size());
  for (const int index : indices) {
    if (index < 0 || index >= count) fail("A mixture activates candidate {} of {} (counted from 0).", index, count);
  }
  std::erase_if(indices, [&](int index) { return is_zero(candidates[index]); });
  return indices;
}

bool is_idle(int site, const std::vector<std::vector<int>>& active) {
  return site >= 0 && !active.empty() && active[site].empty();
}

}  // namespace nascent
