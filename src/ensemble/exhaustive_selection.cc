// Every subset of the pool.
#include <limits>

#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

class Search {
 public:
  explicit Search(const SelectionSetup& setup) : setup_(setup) {}

  Selected run() {
    best_.loss = std::numeric_limits<double>::infinity();
    extend(RunningEnsemble(setup_.pool), 0);
    return best_;
  }

 private:
  void extend(const RunningEnsemble& ensemble, size_t first) {
    const auto missing = static_cast<size_t>(setup_.size) - ensemble.members().size();
    for (size_t member = first; member + missing <= setup_.pool.size(); ++member) {
      if (missing == 1) {
        judge(ensemble, member);
        continue;
      }
      RunningEnsemble larger = ensemble;
      larger.add(member);
      extend(larger, member + 1);
    }
  }

  void judge(const RunningEnsemble& ensemble, size_t last) {
    ++best_.judged;
    const double loss = ensemble.loss_with(last);
    if (loss >= best_.loss) return;
    best_.loss = loss;
    best_.members = ensemble.members();
    best_.members.push_back(last);
  }

  const SelectionSetup& setup_;
  Selected best_;
};

NASCENT_REGISTER(
    Selection, "exhaustive", "the best of all subsets, where there are not too many",
    [](const SelectionSetup& setup) { return Search(setup).run(); }, SelectionFacts{.most_subsets = 1e7});

}  // namespace
}  // namespace nascent
