// Which class a targeted attack is to reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/attack/attacked.h"
#include "nascent/attack/victim.h"

namespace nascent {

struct TargetChoice {
  enum class Kind { none, least_likely, runner_up, random, fixed };
  Kind kind = Kind::none;
  int64_t fixed_class = 0;
  std::string text = "none";  // as it was asked for
};

// An Error where the text is neither a rule nor a class.
TargetChoice parse_target(const std::string& text, const std::vector<std::string>& class_names);

// The images with their aims, as the victim's answers to them decide.
Attacked with_aims(const Attacked& attacked, const TargetChoice& choice, const Victim& victim, uint64_t seed);

// Without those that are of the target's class already.
Attacked without_target(const Attacked& attacked, const TargetChoice& choice);

}  // namespace nascent
