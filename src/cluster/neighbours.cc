#include "nascent/cluster/neighbours.h"

#include <algorithm>

namespace nascent::cluster {

Neighbours neighbours_of(const std::vector<Neighbour>& all, const Neighbour& mine) {
  Neighbours found;
  for (const Neighbour& one : all) found.processes.push_back(one.process);
  double cores = 0;
  for (size_t core = 0; core < mine.cores.size(); ++core) {
    if (!mine.cores[core]) continue;
    cores += 1.0 / static_cast<double>(
                       std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.cores[core]; }));
  }
  found.cores = std::max(1, static_cast<int>(cores + 1e-6));  // a third and a third and a third is one
  return found;
}

}  // namespace nascent::cluster
