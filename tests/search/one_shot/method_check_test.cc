#include "nascent/search/one_shot/method_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "nascent/core/error.h"
#include "nascent/train/loop.h"
#include "search/one_shot/tiny_problem.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// What a search on the tiny problem comes to, or why it was refused.
struct Outcome {
  std::string state, genotype, refusal;
  bool ran() const { return refusal.empty(); }
};

Outcome run(OneShotOptions options, int epochs = 1) {
  options.epochs = epochs;
  const bool holds_out = Objective::Registry::instance().at(options.objective).facts.holds_out;
  const TinyProblem problem({.split = holds_out, .images = holds_out ? 32 : 16, .side = 4, .batch = 8});
  Outcome outcome;
  try {
    const auto search = problem.search(options);
    run_job(*search, {});
    State state;
    search->save(state, "");
    outcome.state = state.serialise();
    outcome.genotype = to_text(search->genotype(), "json");
  } catch (const Error& error) {
    outcome.refusal = error.what();
  }
  return outcome;
}

std::string describe(const OneShotOptions& options) {
  return fmt::format("{} × {} × {} × {} × {}", options.relaxation.relaxation, options.update.update,
                     options.gradient.gradient, options.objective, options.discretisation);
}

// Calls `visit` with every combination of the five axes.
void every_combination(const std::function<void(const OneShotOptions&)>& visit) {
  OneShotOptions options;
  for (const auto& relaxation : Relaxation::Registry::instance().names()) {
    for (const auto& update : ArchitectureUpdate::Registry::instance().names()) {
      for (const auto& gradient : ArchitectureGradient::Registry::instance().names()) {
        for (const auto& objective : Objective::Registry::instance().names()) {
          for (const auto& discretisation : Discretisation::Registry::instance().names()) {
            options.relaxation.relaxation = relaxation;
            options.update.update = update;
            options.gradient.gradient = gradient;
            options.objective = objective;
            options.discretisation = discretisation;
            visit(options);
          }
        }
      }
    }
  }
}

// softmax, concrete, gates and posterior: Adam or SGD, 4 bilevel gradients and 1 single-level one, 3 discretisations
// without edge weights: 15 each. simplex: 2 updates, 30. gumbel: reinforce as well, 18. controller: reinforce only, 3.
// single-path and fair-path: 2 objectives, best-sample only.
TEST(Method, EveryCombinationRunsOrIsRefusedByName) {
  int ran = 0;
  every_combination([&](const OneShotOptions& options) {
    const Outcome outcome = run(options);
    ran += outcome.ran();
    if (outcome.ran()) return;
    EXPECT_THAT(outcome.refusal, testing::AnyOf(HasSubstr("--update " + options.update.update),
                                                HasSubstr("--gradient " + options.gradient.gradient),
                                                HasSubstr("--discretisation " + options.discretisation)))
        << describe(options);
  });
  EXPECT_EQ(ran, 4 * 15 + 30 + 18 + 3 + 2 * 2);
}

// Options that not every method can honour, away from their defaults.
const std::vector<std::string> kOptions = {"search.edge-weights=true",
                                           "search.exclude=skip_connect",
                                           "search.spread=0.5",
                                           "search.temperature=3",
                                           "search.temperature-end=1",
                                           "search.anneal=exponential",
                                           "search.stretch-low=-0.5",
                                           "search.stretch-high=1.5",
                                           "search.sampled-ops=1",
                                           "search.domain=simplex",
                                           "search.unsampled-weights=true",
                                           "search.second-derivatives=finite",
                                           "search.amend=0.7",
                                           "search.entropy-bonus=0.5",
                                           "search.baseline-decay=0.3",
                                           "search.policy-samples=3",
                                           "search.bound=1e-5",
                                           "search.blocks=cyclic",
                                           "search.regularisers=entropy 1",
                                           "search.freeze-epochs=1",
                                           "architecture.lr=0.02",
                                           "architecture.optimizer=sgd",
                                           "architecture.momentum=0.3",
                                           "architecture.nesterov=true",
                                           "architecture.beta1=0.1",
                                           "architecture.beta2=0.5",
                                           "architecture.weight-decay=0.2",
                                           "architecture.clip=1e-4",
                                           "architecture.floor=0.05"};

OneShotOptions with(OneShotOptions options, const std::string& assignment) {
  OptionTable table;
  options.declare(table);
  table.read_assignment(assignment);
  return options;
}

// What is taken has an effect on where the search ends; what is not taken is refused by name.
TEST(Method, NoOptionIsTakenAndIgnored) {
  every_combination([&](const OneShotOptions& options) {
    const bool learns = Relaxation::Registry::instance().at(options.relaxation.relaxation).facts.learns;
    if (options.discretisation != (learns ? "strongest" : "best-sample")) return;
    const Outcome plain = run(options);
    if (!plain.ran()) return;
    for (const std::string& assignment : kOptions) {
      const Outcome changed = run(with(options, assignment));
      const std::string key = assignment.substr(0, assignment.find('='));
      const std::string name = key.substr(key.find('.') + 1);
      // Told what it is, the simplex stays what it is; a floor is reached by none in so few steps.
      const bool the_same = options.relaxation.relaxation == "simplex" && key == "search.domain";
      if (changed.ran() && (the_same || key == "architecture.floor")) continue;
      if (changed.ran()) {
        EXPECT_NE(changed.state, plain.state) << describe(options) << " takes and ignores " << assignment;
      } else {
        EXPECT_THAT(changed.refusal, testing::AnyOf(HasSubstr("--" + name), HasSubstr(key))) << describe(options);
      }
    }
    OneShotOptions dropping = options;
    dropping.drop_path = 0.7;
    // Skip connections are not dropped, so that a step in which nothing else is sampled is no proof.
    EXPECT_NE(run(dropping, 4).state, run(options, 4).state) << describe(options) << " ignores drop-path";
  });
}

TEST(Method, NumberOfSamplesBelongsToBestSample) {
  OneShotOptions options;
  options.samples = 3;
  EXPECT_THAT(run(options).refusal, testing::AllOf(HasSubstr("--samples (search.samples) is 3"),
                                                   HasSubstr("It belongs to discretisation best-sample")));
}

TEST(Method, EdgeWeightsAreHonouredWhereTheyAreAskedFor) {
  OneShotOptions options;
  options.discretisation = "edge-weighted";
  EXPECT_THAT(run(options).refusal, HasSubstr("Use --edge-weights"));
  options.relaxation.edge_weights = true;
  EXPECT_EQ(run(options).refusal, "");
}

}  // namespace
}  // namespace nascent
