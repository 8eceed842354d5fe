#include "nascent/search/strategy.h"

namespace nascent {

void StrategyOptions::declare(OptionTable& table) {
  auto section = table.section("strategy", "Settings of the black-box methods; the defaults are NAS-Bench-201's.");
  section.add("population", population, "rea: architectures that are alive").range(1, 1e6);
  section.add("tournament", tournament, "rea: architectures of which the best becomes a parent").range(1, 1e6);
  section.add("reinforce-lr", reinforce_lr, "reinforce: Adam's learning rate").range(1e-9, 100);
  section.add("baseline-decay", baseline_decay, "reinforce: decay of the moving average of rewards")
      .range(0, 0.999999)
      .flag("strategy.baseline-decay");
  section.add("samples", samples, "bohb: candidates drawn from the good model, of which the best is taken")
      .range(1, 1e6)
      .flag("strategy.samples");
  section.add("random-fraction", random_fraction, "bohb: part of the architectures drawn at random").range(0, 1);
  section.add("good-fraction", good_fraction, "bohb: part of the results that count as good").range(0.001, 0.999);
  section.add("min-bandwidth", min_bandwidth, "bohb: least probability of another option in a kernel").range(0, 1);
  section.add("bandwidth-factor", bandwidth_factor, "bohb: widens kernels that are drawn from").range(1, 100);
  section.add("eta", eta, "bohb: least ratio of two successive budgets").range(1.01, 1000);
  section.add("first-better", first_better,
              "local-search: move to the first better neighbour instead of the best of all");
  section.add("metric", metric,
              "hnas: the metric M of its objective; zero-cost, rea-warm-up, maximise: the metric they go by");
  section.add("acquisition", acquisition, "hnas: what its Gaussian process is asked for").one_of({"ei", "ucb"});
  section.add("ucb-width", ucb_width, "hnas: deviations above the mean that ucb looks at").range(0, 100);
  section.add("initial", initial, "hnas: points drawn at random before the process is trusted").range(1, 10000);
}

}  // namespace nascent
