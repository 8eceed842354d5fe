// What `nascent attack` is told, and what it comes to.
#pragma once

#include <string>
#include <vector>

#include "nascent/attack/attack.h"

namespace nascent {

struct AttackOptions {
  std::vector<std::string> models;
  std::string attack = "autoattack";
  std::string norm = "auto";
  std::vector<std::string> eps;
  std::string units = "pixels";
  std::string target = "none";
  std::string fooled = "auto";
  int images = 1000;
  bool rounds = false, transfer = false;
  int keep = 1000, pictures = 24;
  std::vector<double> mean, deviation;
  AttackSettings settings;

  void declare(OptionTable& table);  // section "attack"
  bool every_member() const { return rounds || transfer; }
};

// A strength such as "0.03" or "8/255".
double parse_eps(const std::string& text);

// What can be said without models and images. An Error where the attack knows the norm, the strength or the target not,
// and where an option was set that it makes no use of.
void check_attack(const AttackOptions& options);

// The options with every default in its place. An Error where they ask for what the attack cannot do.
struct AttackPlan {
  std::string attack;
  AttackFacts facts;
  AttackSettings settings;
  Norm norm = Norm::linf;
  std::vector<double> eps{};  // ascending; of a minimal-norm attack only where the result is read
  bool normalised = false;
};
AttackPlan plan_attack(const AttackOptions& options, int64_t classes, uint64_t seed);

}  // namespace nascent
