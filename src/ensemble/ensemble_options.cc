#include "nascent/ensemble/ensemble_options.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/ensemble/diversity.h"
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
  section.add("members", members, "networks in the ensemble").range(1, 1000);
  section.add("rounds", rounds, "mc, svgd, uniform: ensembles that are drawn; the one with the lowest loss wins")
      .range(1, 1e6);
  section.add("combine", combine, "what of the members is averaged").one_of(combination_names());
  section.add("distinct", distinct, "members are different architectures; otherwise a cell may come several times");
  section.add("judge", judge, "by what weights architectures are judged: a supernet's, or each by training")
      .one_of({"shared", "train"});
  section.add("norms", norms, "what batch norms go by under shared weights").one_of(norm_statistics_names());
  section.add("judge-images", judge_images, "held-out images that judge; 0: all").at_least(0).flag("ensemble-images");
  section
      .add("test-images", test_images,
           "test images that what is found is scored on under shared weights; they choose nothing; 0: none")
      .at_least(0);
  section.add("when", when, "the posterior learns when the supernet is trained, or beside it")
      .one_of({"post-training", "best-response"});
  section.add("fair", fair, "paths of the supernet: drawn uniformly, or each operation once in as many steps")
      .one_of({"uniform", "strict"});
  section.add("supernet", supernet, "folder of a run whose supernet is used; empty: one is trained");
  section.add("posterior", posterior, "folder of a run whose posterior is used; empty: one is trained");
  section.add("delta", delta, "svgd: diversity, a number (0 is plain SVGD), grid or bo");
  section.add("iterations", iterations, "svgd: steps of the particles").range(0, 1e7);
  section.add("step", step, "svgd: size of a step").range(1e-9, 1e6);
  section.add("particle-momentum", momentum, "svgd: momentum of the particles").range(0, 1);
  section.add("pool", pool, "architectures drawn for nes-rs, or to find the best one").range(1, 1e6);
  section.add("selection", selection, "how the pool's members are chosen")
      .one_of(Selection::Registry::instance().names());
  section.add("beam", beam, "beam: ensembles kept at every size").range(1, 1e6);
  section.add("population", population, "nes-re: architectures that live").range(1, 1e6);
  section.add("parents", parents, "nes-re: members of the selection that names the parents").range(1, 1e6);
  section.add("networks", networks, "nes-re: architectures evaluated").range(1, 1e7);
  section.add("genotype", genotype,
              "deep-ensemble, mc-droppath, snapshot: what is trained; empty: the best of the pool");
  section.add("drop", drop, "mc-droppath: probability of dropping an edge").range(0, 0.99);
  learning.declare_training(table);
  search.declare_one_shot(table);
}

void EnsembleOptions::resolve(const std::string& resume) {
  check_delta(delta);
  const auto& facts = EnsembleMethod::Registry::instance().at(method).facts;
  if (facts.searches && genotype.empty() && !(search.data.valid_fraction > 0 || !search.data.split_file.empty()))
    fail("A search for an ensemble needs held-out images to judge by; --valid-fraction is 0 (0.3 as in NESBS).");
  const auto require_pool = [&](const std::string& name, int size, const std::string& flag) {
    if (method != name || members <= size) return;
    fail("An ensemble of {} members was asked for, but the pool has only {}; raise {} or lower --members.", members,
         size, flag);
  };
  require_pool("nes-rs", pool, "--pool");
  require_pool("nes-re", networks, "--networks");
  if (fair == "strict") search.one_shot.relaxation.relaxation = "fair-path";
  search.resolve(resume);
}

}  // namespace nascent
