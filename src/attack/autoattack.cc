// AutoAttack's standard version: four attacks that fail in different ways.
#include "nascent/attack/cascade.h"

namespace nascent {
namespace {

NASCENT_REGISTER(
    Attack, "autoattack", "apgd-ce, apgd-t, fab-t, square, each on what is left (Croce and Hein 2020)",
    [](const AttackSettings& s) {
      return std::make_unique<Cascade>(
          std::vector<Cascade::Part>{{"apgd-ce", s}, {"apgd-t", s}, {"fab-t", s}, {"square", s}});
    },
    AttackFacts{.fewest_classes = 4, .parts = {"apgd-ce", "apgd-t", "fab-t", "square"}});

}  // namespace
}  // namespace nascent
