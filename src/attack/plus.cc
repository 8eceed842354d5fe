// AutoAttack's longer version: untargeted attacks with five starts besides.
#include "nascent/attack/cascade.h"

namespace nascent {
namespace {

AttackSettings with_restarts(AttackSettings settings) {
  if (settings.restarts == 0) settings.restarts = 5;
  return settings;
}

NASCENT_REGISTER(
    Attack, "plus", "apgd-ce, apgd-dlr and fab with 5 starts, square, apgd-t, fab-t (AutoAttack's plus)",
    [](const AttackSettings& s) {
      const AttackSettings more = with_restarts(s);
      return std::make_unique<Cascade>(std::vector<Cascade::Part>{
          {"apgd-ce", more}, {"apgd-dlr", more}, {"fab", more}, {"square", s}, {"apgd-t", s}, {"fab-t", s}});
    },
    AttackFacts{.fewest_classes = 4, .parts = {"apgd-ce", "apgd-dlr", "fab", "square", "apgd-t", "fab-t"}});

}  // namespace
}  // namespace nascent
