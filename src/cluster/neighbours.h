// The ranks of one machine, and how they share it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "nascent/core/cores.h"

namespace nascent::cluster {

struct Neighbours {
  std::vector<pid_t> processes{};  // of the ranks here, this one included
  int cores = 1;                   // for this one
};

// What ranks tell one another to find out.
struct Neighbour {
  pid_t process = 0;
  Cores cores{};  // that it may run on
};

// As `mine`, one of `all`, sees it: a core that several may run on is divided among them.
Neighbours neighbours_of(const std::vector<Neighbour>& all, const Neighbour& mine);

}  // namespace nascent::cluster
