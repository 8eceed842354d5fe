#include "nascent/ensemble/ensemble_check.h"

#include <algorithm>

#include "nascent/core/changed_options.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "deep-ensemble, mc-droppath": the methods that read an option; "" for none.
std::string readers_of(const std::string& name) {
  std::vector<std::string> methods;
  for (const auto& [method, entry] : EnsembleMethod::Registry::instance().entries()) {
    if (entry.facts.reads_option(name)) methods.push_back(method);
  }
  return join(methods, ", ");
}

// Why nothing makes use of an option here; "" where something does.
class Unread {
 public:
  explicit Unread(const EnsembleOptions& options) : options_(options), facts_(options.facts()) {}

  std::string reason(const Option& option) const {
    const std::string &section = option.section(), &name = option.name();
    if (section == "ensemble") return of_ensemble(name);
    if (section == "posterior") return of_posterior(name);
    if (section == "stages") return of_stages(name);
    const bool drawn = section == "search" && is_one_of(name, {"space", "exclude"});
    const bool supernet = is_one_of(section, {"search", "architecture", "weights", "network"}) && !drawn;
    return supernet && !options_.needs_supernet() ? no_supernet() : "";
  }

 private:
  std::string of_ensemble(const std::string& name) const {
    if (const std::string methods = readers_of(name); !methods.empty()) {
      if (!facts_.reads_option(name)) return fmt::format("it belongs to the methods {}", methods);
      if (is_one_of(name, {"pool", "distinct"}) && !options_.judges()) return no_judge();
      if (name == "beam" && options_.selection != "beam") return "it belongs to --selection beam";
      return "";
    }
    if (is_one_of(name, {"judge", "judge-images"})) return options_.judges() ? "" : no_judge();
    if (is_one_of(name, {"norms", "test-images"})) {
      if (!options_.judges()) return no_judge();
      return options_.judge == "shared" ? "" : "it belongs to --judge shared";
    }
    if (is_one_of(name, {"supernet", "when", "fair"})) {
      if (!options_.needs_supernet()) return no_supernet();
      // Of --when and --supernet together more is to be said: check_best_response.
      return name == "fair" && !options_.supernet.empty() ? trained() : "";
    }
    return name == "posterior" && !facts_.posterior ? no_posterior() : "";
  }

  std::string of_posterior(const std::string& name) const {
    const bool best_response = options_.trains_supernet() && options_.when == "best-response";
    if (name == "tau") return facts_.posterior ? "" : no_posterior();
    if (best_response) {
      const bool read = is_one_of(name, {"gumbel-temperature", "kl-weight", "lr", "beta1", "beta2", "weight-decay"});
      return read ? "" : "the best response learns beside the supernet, for its epochs and by Adam";
    }
    if (!facts_.posterior) return no_posterior();
    return options_.posterior.empty() ? "" : fmt::format("the posterior in {} has been learnt", options_.posterior);
  }

  std::string of_stages(const std::string& name) const {
    if (!name.starts_with("retrain")) return "a search for an ensemble has no stages";
    if (!options_.judges()) return no_judge();
    return options_.judge == "train" ? "" : "it belongs to --judge train";
  }

  std::string no_judge() const { return "--genotype says what to train, so nothing is evaluated"; }
  std::string no_posterior() const { return fmt::format("the method '{}' draws from no posterior", options_.method); }
  std::string no_supernet() const {
    return options_.judges() ? "with --judge train this method needs no supernet" : no_judge();
  }
  std::string trained() const { return fmt::format("the supernet in {} has been trained", options_.supernet); }

  const EnsembleOptions& options_;
  const EnsembleMethodFacts& facts_;
};

void check_unread(const EnsembleOptions& options) {
  const Unread unread(options);
  for_changed_options(options, [&](const std::string& flag, const Option& option, const Json& usual) {
    const std::string reason = unread.reason(option);
    if (reason.empty()) return;
    fail("{} ({}) is {}, but nothing makes use of it here: {}. Leave it at its default, {}.", flag, option.key(),
         option.value().dump(), reason, usual.dump());
  });
}

void check_best_response(const EnsembleOptions& options) {
  if (options.when != "best-response") return;
  if (!options.supernet.empty()) {
    fail(
        "--when best-response trains the supernet and its posterior in alternation, but --supernet {} has been "
        "trained. Leave --supernet out; or, where that run trained both so, name it as --posterior too and leave "
        "--when out.",
        options.supernet);
  }
  if (!options.posterior.empty()) {
    fail("--when best-response learns a posterior of its own; leave --posterior {} out, or --when.", options.posterior);
  }
  const RelaxationOptions &relaxation = options.search.one_shot.relaxation,
                          usual = EnsembleOptions().search.one_shot.relaxation;
  if (options.fair != "uniform" || relaxation.relaxation != usual.relaxation) {
    fail(
        "--when best-response draws the supernet's paths from the posterior; leave --fair {} and --relaxation {} at "
        "their defaults, uniform and {}.",
        options.fair, relaxation.relaxation, usual.relaxation);
  }
  if (!relaxation.exclude.empty()) {
    fail(
        "--exclude {}: the best response is a distribution over the whole space. Give a space without these operations "
        "(--space FILE.toml), or leave --when out.",
        join(relaxation.exclude, ", "));
  }
}

}  // namespace

void check_ensemble_options(const EnsembleOptions& options) {
  check_best_response(options);
  check_unread(options);
}

void check_pool(const EnsembleOptions& options, const Space& space) {
  if (!options.judges()) return;
  const auto& facts = options.facts();
  const auto require_different = [&](int drawn, const std::string& flag) {
    if (!options.distinct || drawn <= space.count()) return;
    fail("{} is {}, but the space {} has only {:.0f} architectures; lower {}, or use --no-distinct.", flag, drawn,
         space.name(), space.count(), flag);
  };
  const auto check_selected = [&](int drawn, const std::string& flag) {
    if (options.members > drawn) {
      fail("An ensemble of {} members was asked for, but the pool has only {}; raise {} or lower --members.",
           options.members, drawn, flag);
    }
    check_selection(options.selection, static_cast<size_t>(drawn), options.members, combination(options.combine));
  };
  if (facts.reads_option("networks")) {
    require_different(options.networks, "--networks");
    check_selected(options.networks, "--networks");
  } else if (facts.reads_option("pool")) {
    require_different(options.pool, "--pool");
    if (facts.reads_option("selection")) check_selected(options.pool, "--pool");
  } else if (facts.reads_option("distinct")) {
    require_different(options.members, "--members");
  }
}

void check_given_supernet(const EnsembleOptions& options, const Supernet& supernet) {
  SearchOptions asked = options.search, usual = EnsembleOptions().search, own = supernet.options;
  usual.space = asked.space;
  usual.resolve();
  OptionTable given, defaults, made;
  asked.declare_one_shot(given);
  usual.declare_one_shot(defaults);
  own.declare_one_shot(made);
  for (size_t i = 0; i < given.options().size(); ++i) {
    const Option &option = given.options()[i], &truth = made.options()[i];
    const std::string& section = option.section();
    // Where things lie, how fast they come and what the trainings that judge take is not the supernet's.
    if (is_one_of(section, {"run", "stages"}) || (section == "data" && options.judge == "train")) continue;
    if (is_one_of(option.key(), {"search.space", "search.table", "data.path", "data.workers"})) continue;
    if (option.value() == defaults.options()[i].value() || option.value() == truth.value()) continue;
    fail(
        "{} ({}) is {}, but the supernet in {} was made with {} and is used as it is, with its images. Leave the "
        "option out, or leave --supernet out to have one trained.",
        given.flag(option), option.key(), option.value().dump(), options.supernet, truth.value().dump());
  }
}

void check_images(int64_t judge_images, int64_t test_images, const ImageData& data) {
  const auto held_out = static_cast<int64_t>(data.split().valid.size());
  if (held_out == 0)
    fail("A search for an ensemble needs held-out images to judge by, and there are none; raise --valid-fraction.");
  if (judge_images > held_out) {
    fail("--ensemble-images asks for {} held-out images; there are {}. Ask for fewer, or hold out more.", judge_images,
         held_out);
  }
  if (test_images > data.test_size()) {
    fail("--test-images asks for {} test images; there are {}. Ask for fewer.", test_images, data.test_size());
  }
}

}  // namespace nascent
