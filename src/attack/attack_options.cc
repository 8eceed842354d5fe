#include "nascent/attack/attack_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "nascent/core/changed_options.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Norm choose_norm(const AttackOptions& options, const AttackFacts& facts) {
  if (options.norm == "auto") return facts.linf ? Norm::linf : Norm::l2;
  const Norm norm = norm_named(options.norm);
  if (facts.knows(norm)) return norm;
  std::vector<std::string> able;
  for (const auto& [name, entry] : Attack::Registry::instance().entries()) {
    if (entry.facts.knows(norm)) able.push_back(name);
  }
  fail("The attack '{}' does not know the norm {}. Choose one that does ({}), or another norm.", options.attack,
       options.norm, join(able, ", "));
}

std::vector<double> choose_eps(const AttackOptions& options, const AttackFacts& facts, Norm norm) {
  std::vector<double> all;
  for (const auto& text : options.eps) all.push_back(parse_eps(text));
  if (all.empty() && facts.eps(norm) > 0) all.push_back(facts.eps(norm));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const double eps : all) {
    if (eps < 0) fail("--eps {} is below 0; a distance was expected.", eps);
    if (eps > 1 && norm == Norm::linf && options.units == "pixels") {
      fail("--eps {} is above 1, but pixels run from 0 to 1. Was {}/255 meant, or --units normalised?", eps, eps);
    }
  }
  return all;
}

void check_class_count(const AttackOptions& options, const AttackFacts& facts, int64_t classes) {
  const int fewest = options.target == "none" ? facts.fewest_classes : facts.fewest_classes_target;
  if (classes >= fewest) return;
  fail("The attack '{}' needs at least {} classes; there are {}. Use apgd-ce, pgd, fab or square.", options.attack,
       fewest, classes);
}

void check_target(const AttackOptions& options, const AttackFacts& facts) {
  if (options.target == "none" || facts.takes_target) return;
  std::vector<std::string> able;
  for (const auto& [name, entry] : Attack::Registry::instance().entries()) {
    if (entry.facts.takes_target) able.push_back(name);
  }
  fail("The attack '{}' cannot be given a target. Those that can: {}.", options.attack, join(able, ", "));
}

// Settings that the attack passes over may not differ from their defaults.
void check_unread(const AttackOptions& options, const AttackFacts& facts) {
  for_changed_options(options.settings, [&](const std::string& flag, const Option& option, const Json& usual) {
    if (facts.reads_option(option.name())) return;
    std::vector<std::string> able;
    for (const auto& [name, entry] : Attack::Registry::instance().entries()) {
      if (entry.facts.reads_option(option.name())) able.push_back(name);
    }
    fail("{} is {}, but the attack '{}' makes no use of it; it belongs to {}. Leave it at its default, {}.", flag,
         option.value().dump(), options.attack, join(able, ", "), usual.dump());
  });
}

}  // namespace

void check_attack(const AttackOptions& options) {
  const AttackFacts& facts = Attack::Registry::instance().at(options.attack).facts;
  choose_eps(options, facts, choose_norm(options, facts));
  check_target(options, facts);
  check_unread(options, facts);
}

double parse_eps(const std::string& text) {
  const size_t bar = text.find('/');
  const auto above = number_in(std::string_view(text).substr(0, bar));
  const auto below = bar == std::string::npos ? std::optional(1.0) : number_in(std::string_view(text).substr(bar + 1));
  if (!above || !below || *below == 0 || !std::isfinite(*above / *below)) {
    fail("--eps '{}' is not a number such as 0.03 or 8/255.", text);
  }
  return *above / *below;
}

void AttackOptions::declare(OptionTable& table) {
  auto section = table.section("attack", "Which attack, how strong, and against whom.");
  section.add("models", models, "model files, run folders or TorchScript files to attack; several form an ensemble");
  section.add("attack", attack, "attack").one_of(Attack::Registry::instance().names());
  section.add("norm", norm, "norm of the perturbation; auto: linf if the attack supports it")
      .one_of({"auto", "linf", "l2"});
  section.add("eps", eps, "perturbation sizes, such as 1/255,2/255; empty: the attack's default");
  section.add("units", units, "units of the perturbation: pixel values from 0 to 1, or normalised pixel values")
      .one_of({"pixels", "normalised"});
  section.add("target", target,
              "target class: none, least-likely, runner-up, random, or the name or number of a class");
  section
      .add("fooled", fooled,
           "whether images leave the batch once misclassified; auto: they stay with --rounds and --transfer")
      .one_of({"auto", "leave", "stay"});
  section.add("images", images, "number of test images to attack, chosen at random by the seed").at_least(1);
  section.add("rounds", rounds, "attack each member in turn and evaluate all of them, then attack the whole ensemble");
  section.add("transfer", transfer, "as --rounds, and report how each attack transfers to every other member");
  section.add("keep", keep, "number of adversarial images to save per attack").at_least(0);
  section.add("pictures", pictures, "number of misclassified ones among them to write as PNG").at_least(0);
  section.add("mean", mean, "channel means with which a TorchScript file expects images to be normalised");
  section.add("deviation", deviation,
              "channel standard deviations with which a TorchScript file expects images to be normalised");
  settings.declare(table);
}

AttackPlan plan_attack(const AttackOptions& options, int64_t classes, uint64_t seed) {
  const auto& entry = Attack::Registry::instance().at(options.attack);
  AttackPlan plan{options.attack, entry.facts, options.settings};
  plan.norm = choose_norm(options, entry.facts);
  plan.eps = choose_eps(options, entry.facts, plan.norm);
  check_target(options, entry.facts);
  check_class_count(options, entry.facts, classes);
  plan.settings.seed = seed;
  plan.settings.leave = options.fooled == "leave" || (options.fooled == "auto" && !options.every_member());
  plan.normalised = options.units == "normalised";
  return plan;
}

}  // namespace nascent
