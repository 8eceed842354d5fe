// AutoAttack's version for victims that answer at random: gradients are means over many passes.
#include "nascent/attack/cascade.h"

namespace nascent {
namespace {

AttackSettings with_passes(AttackSettings settings) {
  if (settings.passes <= 1) settings.passes = 20;
  return settings;
}

NASCENT_REGISTER(
    Attack, "rand", "apgd-ce and apgd-dlr on gradients of 20 passes, for victims that answer at random",
    [](const AttackSettings& s) {
      const AttackSettings many = with_passes(s);
      return std::make_unique<Cascade>(std::vector<Cascade::Part>{{"apgd-ce", many}, {"apgd-dlr", many}});
    },
    AttackFacts{.fewest_classes = 3, .parts = {"apgd-ce", "apgd-dlr"}});

}  // namespace
}  // namespace nascent
