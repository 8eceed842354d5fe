#include "nascent/attack/attack_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

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

}  // namespace

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
  section.add("models", models,
              "what is attacked: model files, run folders or TorchScript files; several: an ensemble");
  section.add("attack", attack, "attack").one_of(Attack::Registry::instance().names());
  section.add("norm", norm, "how distances are measured; auto: linf where the attack knows it")
      .one_of({"auto", "linf", "l2"});
  section.add("eps", eps, "how far images may be moved, such as 1/255,2/255; empty: the attack's usual distance");
  section.add("units", units, "of distances: pixels from 0 to 1, or pixels as the model normalises them")
      .one_of({"pixels", "normalised"});
  section.add("target", target, "class to reach: none, least-likely, runner-up, random, or a class's name or number");
  section
      .add("fooled", fooled, "whether images leave the batch once fooled; auto: they stay in --rounds and --transfer")
      .one_of({"auto", "leave", "stay"});
  section.add("images", images, "test images to attack, chosen by the seed").at_least(1);
  section.add("rounds", rounds, "attack each member in turn and let all answer, then attack all at once");
  section.add("transfer", transfer, "as --rounds, and show how each member answers what was made for each");
  section.add("keep", keep, "adversarial images to keep per attack, from the first on").at_least(0);
  section.add("pictures", pictures, "of them, how many fooled ones to write as PNG").at_least(0);
  section.add("mean", mean, "that a TorchScript file wants subtracted, per channel");
  section.add("deviation", deviation, "that a TorchScript file wants its images divided by, per channel");
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
