// The posterior as a density over real numbers (thesis, 5.8): a particle has |O| coordinates per site and, where a node
// chooses its inputs, one per candidate input. Every block is a mixture of Gaussians of variance |O| around the vectors
// that stand for its choices, one-hot for operations, one at each kept input for sets of inputs.
//
//   const RelaxedPosterior relaxed(posterior);
//   svgd(particles, relaxed.gradient(), options);
//   Genotype genotype = relaxed.decode(particles[0]);
#pragma once

#include <vector>

#include "nascent/ensemble/svgd.h"
#include "nascent/search/one_shot/posterior.h"

namespace nascent {

class RelaxedPosterior {
 public:
  // Takes the posterior's probabilities as they are now.
  explicit RelaxedPosterior(const ArchitecturePosterior& posterior);

  size_t dimensions() const { return dimensions_; }
  // (w(x) - x) / |O|, with w(x) the choices' vectors weighted by how responsible each is for x.
  void gradient(std::span<const double> x, std::span<double> gradient) const;
  // Up to a constant.
  double log_density(std::span<const double> x) const;
  // The operation with the largest coordinate at every site, the inputs with the largest ones (5.9).
  Genotype decode(const Particle& particle) const;

 private:
  struct Block {
    size_t start = 0, size = 0;               // coordinates
    std::vector<std::vector<int>> choices{};  // coordinates that are 1
    std::vector<double> log_probabilities{};  // one per choice
    int keep = 1;
  };
  void add_block(size_t size, std::vector<std::vector<int>> choices, std::vector<double> log_probabilities, int keep);
  // Logarithms of p times the Gaussian of each choice, but for a constant.
  std::vector<double> terms(const Block& block, std::span<const double> x) const;

  const Space& space_;
  PosteriorShape shape_;
  double variance_;
  size_t dimensions_ = 0;
  std::vector<Block> blocks_;  // by cell: its sites, then the groups that choose
};

}  // namespace nascent
