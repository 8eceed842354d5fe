// What a search for an ensemble is asked for.
#pragma once

#include <string>

#include "nascent/ensemble/posterior_training.h"
#include "nascent/search/search_options.h"

namespace nascent {

struct EnsembleMethodFacts;

struct EnsembleOptions {
  std::string method = "svgd";
  int members = 3;  // n
  int rounds = 5;   // T: ensembles that are sampled and compared (mc, svgd, uniform)
  std::string combine = "probabilities";
  bool distinct = true;  // members are different architectures

  std::string judge = "shared";  // or "train"
  std::string norms = "batch";   // of shared weights
  int judge_images = 0;          // held-out images that judge; 0: all
  int test_images = 0;           // that ensembles are tested on under shared weights; 0: none

  std::string when = "post-training";   // or "best-response": when the posterior learns
  std::string fair = "uniform";         // or "strict": how the supernet's paths are drawn
  std::string supernet{}, posterior{};  // folders of other runs; "": trained in this one

  std::string delta = "grid";  // svgd: a number, "grid" or "bo"
  int iterations = 1000;
  double step = 0.1, momentum = 0.9;

  int pool = 50;  // nes-rs, deep-ensemble, mc-droppath, snapshot
  std::string selection = "forward";
  int beam = 10;
  int population = 50, parents = 10, networks = 400;  // nes-re
  std::string genotype{};  // deep-ensemble, mc-droppath, snapshot: what to train; "": the best of the pool
  double drop = 0.01;      // mc-droppath

  PosteriorOptions learning{};  // of the posterior
  SearchOptions search{};       // of the supernet: space, network, data, run

  EnsembleOptions();
  void declare(OptionTable& table);
  const EnsembleMethodFacts& facts() const;  // of the method
  // Whether architectures are evaluated: not where the one to train is given.
  bool judges() const { return genotype.empty(); }
  bool needs_supernet() const;
  bool trains_supernet() const { return needs_supernet() && supernet.empty(); }
  void resolve(const std::string& resume = "");
  ScaleLimits scale_limits() const { return search.scale_limits(); }
};

}  // namespace nascent
