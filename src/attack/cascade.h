// Attacks one after another, each on what the ones before left standing and from the clean image.
#pragma once

#include <string>
#include <vector>

#include "nascent/attack/attack.h"

namespace nascent {

class Cascade : public Attack {
 public:
  struct Part {
    std::string name;
    AttackSettings settings;
  };
  explicit Cascade(std::vector<Part> parts);

  Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const override;

 private:
  std::vector<Part> parts_;
};

}  // namespace nascent
