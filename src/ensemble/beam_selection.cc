// Beam search: as forward selection, but the best few ensembles of every size are gone on with (NES's "beam").
#include <algorithm>
#include <set>

#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

struct Extension {
  double loss = 0;
  size_t parent = 0, member = 0;
};

// Every way to add one member to one of the ensembles, best first.
std::vector<Extension> extensions(const std::vector<RunningEnsemble>& ensembles, size_t pool) {
  std::vector<Extension> all;
  std::set<std::vector<size_t>> seen;
  for (size_t parent = 0; parent < ensembles.size(); ++parent) {
    const auto& members = ensembles[parent].members();
    for (size_t member = 0; member < pool; ++member) {
      if (std::find(members.begin(), members.end(), member) != members.end()) continue;
      std::vector<size_t> set = members;
      set.push_back(member);
      std::sort(set.begin(), set.end());
      if (seen.insert(std::move(set)).second) all.push_back({ensembles[parent].loss_with(member), parent, member});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Extension& a, const Extension& b) { return a.loss < b.loss; });
  return all;
}

Selected beam(const SelectionSetup& setup) {
  std::vector<RunningEnsemble> kept = {RunningEnsemble(setup.pool)};
  Selected result;
  for (int i = 0; i < setup.size; ++i) {
    const auto found = extensions(kept, setup.pool.size());
    result.judged += static_cast<int64_t>(found.size());
    result.loss = found.front().loss;
    std::vector<RunningEnsemble> next;
    for (size_t j = 0; j < std::min<size_t>(static_cast<size_t>(setup.beam), found.size()); ++j) {
      next.push_back(kept[found[j].parent]);
      next.back().add(found[j].member);
    }
    kept = std::move(next);
  }
  result.members = kept.front().members();
  return result;
}

NASCENT_REGISTER(Selection, "beam", "as forward, keeping the best few ensembles of every size", beam);

}  // namespace
}  // namespace nascent
