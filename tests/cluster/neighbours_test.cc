#include "nascent/cluster/neighbours.h"

#include <gmock/gmock.h>

namespace nascent::cluster {
namespace {

Cores cores(size_t first, size_t count) {
  Cores some;
  for (size_t i = 0; i < count; ++i) some.set(first + i);
  return some;
}

// The threads that each of them takes.
std::vector<int> shares(const std::vector<Cores>& bound_to) {
  std::vector<Neighbour> all;
  for (size_t i = 0; i < bound_to.size(); ++i) all.push_back({static_cast<pid_t>(100 + i), bound_to[i]});
  std::vector<int> counts;
  for (const Neighbour& one : all) {
    const Neighbours found = neighbours_of(all, one);
    EXPECT_EQ(found.processes.size(), all.size());
    counts.push_back(found.cores);
  }
  return counts;
}

TEST(Neighbours, ShareTheCoresThatSeveralMayRunOn) {
  using testing::ElementsAre;
  EXPECT_THAT(shares({cores(0, 8)}), ElementsAre(8));
  EXPECT_THAT(shares({cores(0, 8), cores(0, 8), cores(0, 8)}), ElementsAre(2, 2, 2)) << "--bind-to none";
  EXPECT_THAT(shares({cores(0, 1), cores(1, 1)}), ElementsAre(1, 1)) << "--bind-to core";
  EXPECT_THAT(shares({cores(0, 4), cores(0, 4), cores(4, 4)}), ElementsAre(2, 2, 4)) << "--bind-to socket";
  EXPECT_THAT(shares({cores(16, 4), cores(20, 12)}), ElementsAre(4, 12)) << "srun -c";
  EXPECT_THAT(shares({cores(0, 2), cores(0, 2), cores(0, 2)}), ElementsAre(1, 1, 1)) << "more than there are";
  EXPECT_THAT(shares({cores(0, 3), cores(0, 3), cores(0, 3)}), ElementsAre(1, 1, 1)) << "thirds make one";
}

}  // namespace
}  // namespace nascent::cluster
