// Attacks by name. An attack is one file under src/attack that derives from Attack and registers at its foot with what
// others must know about it:
//
//   NASCENT_REGISTER(Attack, "fgsm", "one step along the gradient's sign (Goodfellow et al. 2015)",
//                    [](const AttackSettings& s) { return std::make_unique<Fgsm>(s); }, AttackFacts{...});
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/attack/attacked.h"
#include "nascent/attack/threat.h"
#include "nascent/attack/victim.h"
#include "nascent/core/options.h"
#include "nascent/core/registry.h"

namespace nascent {

// How an attack goes about it. 0 means the attack's own default, as published (docs/attacks.md).
struct AttackSettings {
  uint64_t seed = 1;
  bool leave = true;  // images that are fooled leave the batch
  int steps = 0;
  double step = 0;  // length of a step, as a part of eps
  int restarts = 0;
  int passes = 1;         // gradients that are averaged, for victims that answer at random
  int searches = 3;       // for the constant of cw
  double confidence = 0;  // by which cw's logit must lead
  double rate = 0.01;     // of cw's Adam
  int queries = 5000;     // of square
  double window = 0.8;    // share of the pixels that square's first window covers
  int classes = 9;        // that attacks with targets of their own try

  void declare(OptionTable& table);  // section "attack"
};

struct AttackFacts {
  bool linf = true, l2 = true;                // norms it knows
  bool gradients = true;                      // it needs them
  bool takes_target = false;                  // it can be told which class to reach
  bool minimal = false;                       // looks for the nearest adversarial image, whatever eps is
  int fewest_classes = 2;                     // it needs as many
  int fewest_classes_target = 2;              // and with a target as many
  double eps_linf = 8.0 / 255, eps_l2 = 0.5;  // where none is given; 0: it needs none
  std::string not_weaker_than{};              // should fool at least as many images as this attack
  std::vector<std::string> parts{};           // of a cascade
  std::vector<std::string> reads{};           // of AttackSettings' options, those that it makes use of itself

  // Itself or a part of it.
  bool reads_option(const std::string& name) const;
  bool knows(Norm norm) const { return norm == Norm::linf ? linf : l2; }
  double eps(Norm norm) const { return norm == Norm::linf ? eps_linf : eps_l2; }
};

class Attack {
 public:
  static std::string kind() { return "attack"; }
  using Registry = nascent::Registry<Attack, std::unique_ptr<Attack>(const AttackSettings&), AttackFacts>;

  explicit Attack(const AttackSettings& settings) : settings_(settings) {}
  virtual ~Attack() = default;

  // Of images that are not fooled yet, or (where they stay) of any.
  virtual Outcome run(const Victim& victim, const Attacked& attacked, const Threat& threat) const = 0;

 protected:
  int steps(int usual) const { return settings_.steps > 0 ? settings_.steps : usual; }
  int restarts(int usual = 1) const { return settings_.restarts > 0 ? settings_.restarts : usual; }

  const AttackSettings settings_;
};

// Runs an attack on a batch. Images that are fooled as they are count as such, and are attacked only where they stay;
// what a minimal-norm attack finds beyond eps does not count.
Outcome attack_batch(const Attack& attack, const AttackFacts& facts, const AttackSettings& settings,
                     const Victim& victim, const Attacked& attacked, const Threat& threat);

}  // namespace nascent
