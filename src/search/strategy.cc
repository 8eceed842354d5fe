#include "nascent/search/strategy.h"

namespace nascent {

void StrategyOptions::declare(OptionTable& table) {
  auto section = table.section("strategy", "Settings of the black-box methods; the defaults are NAS-Bench-201's.");
  section.add("population", population, "rea: population size").range(1, 1e6);
  section.add("tournament", tournament, "rea: tournament size; the best of the tournament becomes the parent")
      .range(1, 1e6);
  section.add("reinforce-lr", reinforce_lr, "reinforce: learning rate of Adam").range(1e-9, 100);
  section.add("baseline-decay", baseline_decay, "reinforce: decay of the moving average of rewards")
      .range(0, 0.999999)
      .flag("strategy.baseline-decay");
  section
      .add("samples", samples,
           "bohb: candidates sampled from the model of good architectures; the best one is evaluated")
      .range(1, 1e6)
      .flag("strategy.samples");
  section.add("random-fraction", random_fraction, "bohb: fraction of architectures sampled at random").range(0, 1);
  section.add("good-fraction", good_fraction, "bohb: fraction of the results that count as good").range(0.001, 0.999);
  section.add("min-bandwidth", min_bandwidth, "bohb: minimum kernel bandwidth").range(0, 1);
  section.add("bandwidth-factor", bandwidth_factor, "bohb: bandwidth multiplier when sampling").range(1, 100);
  section.add("eta", eta, "bohb: minimum ratio of successive budgets").range(1.01, 1000);
  section.add("first-better", first_better,
              "local-search: move to the first neighbour that improves instead of the best neighbour");
  section.add(
      "metric", metric,
      "training-free metric: M in the objective of hnas; the ranking criterion of zero-cost, rea-warm-up and maximise");
  section.add("acquisition", acquisition, "hnas: acquisition function").one_of({"ei", "ucb"});
  section.add("ucb-width", ucb_width, "hnas: standard deviations above the mean used by ucb").range(0, 100);
  section.add("initial", initial, "hnas: random evaluations before the Gaussian process is used").range(1, 10000);
  section.add("command", command,
              "external: shell command of the program that proposes architectures, in lines of JSON (docs/python.md)");
}

}  // namespace nascent
