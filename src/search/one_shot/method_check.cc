#include "nascent/search/one_shot/method_check.h"

#include <algorithm>
#include <set>

#include "nascent/core/changed_options.h"

namespace nascent {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The facts of the chosen entries.
struct Method {
  explicit Method(const OneShotOptions& options)
      : relaxation(Relaxation::Registry::instance().at(options.relaxation.relaxation).facts),
        optimizer(Optimizer::Registry::instance().at(options.update.optimizer.optimizer).facts),
        update(ArchitectureUpdate::Registry::instance().at(options.update.update).facts),
        gradient(ArchitectureGradient::Registry::instance().at(options.gradient.gradient).facts),
        objective(Objective::Registry::instance().at(options.objective).facts),
        discretisation(Discretisation::Registry::instance().at(options.discretisation).facts) {}

  const RelaxationFacts& relaxation;
  const OptimizerFacts& optimizer;
  const UpdateFacts& update;
  const GradientFacts& gradient;
  const ObjectiveFacts& objective;
  const DiscretisationFacts& discretisation;
};

void check_domain(const OneShotOptions& options, const Method& method) {
  const std::string &domain = options.relaxation.domain, &name = options.relaxation.relaxation;
  const auto& possible = method.relaxation.domains;
  if (domain == "auto" || contains(possible, domain)) return;
  std::vector<std::string> others;
  for (const auto& [other, entry] : Relaxation::Registry::instance().entries()) {
    if (contains(entry.facts.domains, domain)) others.push_back(other);
  }
  fail("--domain {}: the relaxation '{}' has {}. Leave --domain at auto, or use --relaxation {}.", domain, name,
       possible.empty() ? "parameters of another kind, or none" : "its parameters as " + join(possible, " or "),
       join(others, " or "));
}

Domain domain_of(const OneShotOptions& options, const Method& method) {
  std::string domain = options.relaxation.domain;
  if (domain == "auto") domain = method.relaxation.domains.empty() ? "logits" : method.relaxation.domains.front();
  return domain == "simplex" ? Domain::simplex : Domain::logits;
}

void check_update(const OneShotOptions& options, const Method& method) {
  const Domain domain = domain_of(options, method);
  if (method.update.domain == Domain::simplex && domain != Domain::simplex) {
    fail(
        "--update {} moves points of a simplex, which the relaxation '{}' does not have here: use --relaxation "
        "simplex, "
        "or gumbel or concrete with --domain simplex.",
        options.update.update, options.relaxation.relaxation);
  }
  if (method.update.domain == Domain::logits && domain == Domain::simplex) {
    fail(
        "--update {}: Adam and SGD would leave the simplex of the relaxation '{}'. Use --update "
        "exponentiated-gradient, or logits (--relaxation softmax, or --domain logits with gumbel and concrete).",
        options.update.update, options.relaxation.relaxation);
  }
  if (domain == Domain::simplex && options.relaxation.spread != RelaxationOptions().spread) {
    fail("--spread {}: points of a simplex start uniform; the spread is that of initial logits.",
         options.relaxation.spread);
  }
}

void check_gradient(const OneShotOptions& options, const Method& method) {
  const std::string &gradient = options.gradient.gradient, &relaxation = options.relaxation.relaxation;
  if (method.gradient.bilevel && !method.objective.holds_out) {
    fail(
        "--gradient {} belongs to a bilevel problem; with --objective {} there is one loss and only --gradient "
        "first-order.",
        gradient, options.objective);
  }
  if (method.gradient.policy && !method.relaxation.has_policy) {
    fail(
        "--gradient {}: the relaxation '{}' samples no architecture, so it has no policy to reinforce. Use "
        "--relaxation "
        "gumbel or controller.",
        gradient, relaxation);
  }
  if (!method.gradient.policy && method.relaxation.learns && !method.relaxation.differentiable) {
    fail("--gradient {}: no gradient flows from the supernet to the relaxation '{}'. Use --gradient reinforce.",
         gradient, relaxation);
  }
}

void check_regularisers(const OneShotOptions& options, const Method& method) {
  if (options.regularisers.empty() || (method.relaxation.learns && method.relaxation.differentiable)) return;
  fail("--regularisers {}: no penalty can be felt by the relaxation '{}', which {}.", join(options.regularisers, ", "),
       options.relaxation.relaxation,
       method.relaxation.learns ? "has no probabilities that can be differentiated" : "learns nothing");
}

// Where nothing is learnt, nothing can be asked about the learning.
void check_learning(const OneShotOptions& options, const Method& method) {
  if (method.relaxation.learns) return;
  const OneShotOptions defaults;
  const auto refuse = [&](const std::string& option) {
    fail("{}: the relaxation '{}' learns nothing about the architecture, so this would be ignored.", option,
         options.relaxation.relaxation);
  };
  if (options.blocks != defaults.blocks) refuse("--blocks " + options.blocks);
  if (options.freeze_epochs > 0) refuse(fmt::format("--freeze-epochs {}", options.freeze_epochs));
  if (options.update.update != defaults.update.update) refuse("--update " + options.update.update);
  if (options.gradient.gradient != defaults.gradient.gradient) refuse("--gradient " + options.gradient.gradient);
  if (method.discretisation.ranks) {
    fail("--discretisation {}: the relaxation '{}' prefers nothing. Use --discretisation best-sample.",
         options.discretisation, options.relaxation.relaxation);
  }
}

void check_discretisation(const OneShotOptions& options, const Method& method, const Space& space) {
  if (method.discretisation.ranking != EdgeRanking::edge_and_operation || options.relaxation.edge_weights) return;
  const auto& cells = space.cells();
  if (std::any_of(cells.begin(), cells.end(), [](const CellChoices& cell) { return cell.ops_on_nodes; })) return;
  fail("--discretisation {}: edges have no weights to rank by. Use --edge-weights, or --discretisation strongest.",
       options.discretisation);
}

void check_sampling(const OneShotOptions& options) {
  if (!options.relaxation.sample_per_shard || options.shards > 1) return;
  fail("--sample-per-shard: batches are not cut into shards. Give --shards N, or leave it out.");
}

template <class Facts>
bool reads(const Facts& facts, const std::string& key) {
  return contains(facts.reads, key);
}
bool reads(const RelaxationFacts& facts, const std::string& key) {
  return contains(facts.reads, key) || contains(facts.smooth_reads, key);
}

// "relaxation gates or gumbel": the entries of an axis that read an option; "" for none.
template <class Axis>
std::string readers(const std::string& key) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Axis::Registry::instance().entries()) {
    if (reads(entry.facts, key)) names.push_back(name);
  }
  return names.empty() ? "" : fmt::format("{} {}", Axis::kind(), join(names, " or "));
}

std::string readers_of(const std::string& key) {
  std::vector<std::string> all = {readers<Relaxation>(key), readers<ArchitectureUpdate>(key),
                                  readers<ArchitectureGradient>(key), readers<Objective>(key),
                                  readers<Discretisation>(key)};
  std::erase(all, "");
  return join(all, ", ");
}

// What every method reads; options on which the checks above have the say are among them.
bool always_read(const std::string& key, const Method& method) {
  static const std::set<std::string> keys = {"search.epochs",         "search.freeze-epochs", "search.objective",
                                             "search.discretisation", "search.judge-images",  "search.regularisers",
                                             "search.relaxation",     "search.domain",        "search.exclude",
                                             "search.gradient",       "architecture.update",  "search.auxiliary-weight",
                                             "search.shards"};
  if (key == "architecture.lr") return method.relaxation.learns;
  return keys.count(key) > 0 || key.starts_with("weights.");
}

bool is_read(const std::string& key, const Method& method) {
  if (always_read(key, method)) return true;
  if (method.relaxation.learns && contains(method.update.reads, key)) return true;
  if (method.relaxation.learns && method.update.optimizer && key.starts_with("architecture.") &&
      contains(method.optimizer.reads, key.substr(std::string("architecture.").size())))
    return true;
  if (!method.gradient.policy && contains(method.relaxation.smooth_reads, key)) return true;
  return contains(method.relaxation.reads, key) || contains(method.gradient.reads, key) ||
         contains(method.objective.reads, key) || contains(method.discretisation.reads, key);
}

void check_unread(const OneShotOptions& options, const Method& method) {
  for_changed_options(options, [&](const std::string& flag, const Option& option, const Json& usual) {
    if (is_read(option.key(), method)) return;
    const std::string owners = readers_of(option.key());
    fail(
        "{} ({}) is {}, but this method makes no use of it: relaxation {}, update {}, gradient {}, objective {}, "
        "discretisation {}. {}Leave it at its default, {}.",
        flag, option.key(), option.value().dump(), options.relaxation.relaxation, options.update.update,
        options.gradient.gradient, options.objective, options.discretisation,
        owners.empty() ? "" : "It belongs to " + owners + ". ", usual.dump());
  });
}

}  // namespace

void check_method(const OneShotOptions& options, const Space& space) {
  const Method method(options);
  check_domain(options, method);
  check_learning(options, method);
  if (method.relaxation.learns) check_update(options, method);
  check_gradient(options, method);
  check_regularisers(options, method);
  check_discretisation(options, method, space);
  check_sampling(options);
  check_unread(options, method);
}

}  // namespace nascent
