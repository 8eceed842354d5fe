#include "nascent/ensemble/ensemble_options.h"

#include "nascent/core/error.h"
#include "nascent/ensemble/diversity.h"
#include "nascent/ensemble/ensemble_check.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/selection.h"

namespace nascent {

// The supernet of NESBS (thesis, 5.3.2).
EnsembleOptions::EnsembleOptions() {
  search.space = "darts";
  search.one_shot.relaxation.relaxation = "single-path";
  search.one_shot.discretisation = "best-sample";  // what a supernet of single paths ends with; one sample will do
  search.one_shot.samples = 1;
  search.one_shot.epochs = 50;
  search.one_shot.weights.lr = 0.1;
  search.one_shot.schedule.lr_min = 0;
  search.network.partial = 2;
  search.data.batch = 128;
  search.data.valid_fraction = 0.3;
}

void EnsembleOptions::declare(OptionTable& table) {
  auto section = table.section("ensemble", "Search for networks that predict well together.");
  section.add("method", method, "how members are found").one_of(EnsembleMethod::Registry::instance().names());
  section.add("members", members, "number of networks in the ensemble").range(1, 1000);
  section.add("rounds", rounds, "mc, svgd, uniform: number of ensembles to draw; the one with the lowest loss wins")
      .range(1, 1e6);
  section.add("combine", combine, "what to average over the members").one_of(combination_names());
  section.add("distinct", distinct, "require all members to have different architectures");
  section.add("judge", judge, "how architectures are evaluated: with a supernet's shared weights, or by training each")
      .one_of({"shared", "train"});
  section.add("norms", norms, "batch-norm statistics with shared weights").one_of(norm_statistics_names());
  section.add("judge-images", judge_images, "number of held-out images for evaluation; 0: all")
      .at_least(0)
      .flag("ensemble-images");
  section
      .add("test-images", test_images,
           "number of test images on which to report the result with shared weights; never used for selection; 0: none")
      .at_least(0);
  section.add("when", when, "learn the posterior after the supernet is trained, or alongside it")
      .one_of({"post-training", "best-response"});
  section
      .add("fair", fair,
           "how the supernet's paths are sampled: uniformly, or every operation exactly once in as many steps as there "
           "are operations")
      .one_of({"uniform", "strict"});
  section.add("supernet", supernet, "run folder whose supernet to use; empty: train one");
  section.add("posterior", posterior, "run folder whose posterior to use; empty: train one");
  section.add("delta", delta, "svgd: diversity, a number (0 is plain SVGD), grid or bo");
  section.add("iterations", iterations, "svgd: number of steps").range(0, 1e7);
  section.add("step", step, "svgd: step size").range(1e-9, 1e6);
  section.add("particle-momentum", momentum, "svgd: momentum of the particles").range(0, 1);
  section.add("pool", pool, "number of architectures to sample for nes-rs, or to find the best one").range(1, 1e6);
  section.add("selection", selection, "how members are selected from the pool")
      .one_of(Selection::Registry::instance().names());
  section.add("beam", beam, "beam: number of ensembles to keep at every size").range(1, 1e6);
  section.add("population", population, "nes-re: population size").range(1, 1e6);
  section.add("parents", parents, "nes-re: number of members in the selection from which parents are drawn")
      .range(1, 1e6);
  section.add("networks", networks, "nes-re: number of architectures to evaluate").range(1, 1e7);
  section.add("genotype", genotype,
              "deep-ensemble, mc-droppath, snapshot: genotype to train; empty: the best of the pool");
  section.add("drop", drop, "mc-droppath: probability of dropping an edge").range(0, 0.99);
  learning.declare_training(table);
  search.declare_one_shot(table);
}

const EnsembleMethodFacts& EnsembleOptions::facts() const {
  return EnsembleMethod::Registry::instance().at(method).facts;
}

bool EnsembleOptions::needs_supernet() const { return facts().posterior || (judge == "shared" && judges()); }

void EnsembleOptions::resolve(const std::string& resume) {
  check_delta(delta);
  if (resume.empty()) check_ensemble_options(*this);
  if (judges() && !(search.data.valid_fraction > 0 || !search.data.split_file.empty()))
    fail("A search for an ensemble needs held-out images to judge by; --valid-fraction is 0 (0.3 as in NESBS).");
  if (fair == "strict") search.one_shot.relaxation.relaxation = "fair-path";
  search.resolve(resume);
  check_pool(*this, *searched_space(search));
}

}  // namespace nascent
