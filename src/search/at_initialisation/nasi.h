// NASI (Algorithm 6.1 of Shu's thesis): a search without training. Architectures are drawn from a supernet at its
// initialisation by Gumbel samples of operations and inputs; the gradient of the expected squared norm of the loss
// gradient, penalised above a bound nu, moves the distribution in one step (6.13); its mode is the result. Or in
// several: one step from the uniform distribution does not find what pays only together with other choices.
//
//   Nasi nasi(space, supernet, data.training(data.all(), "nasi"), options, seed);
//   run_job(nasi, {...});
//   nasi.genotype();
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nascent/data/loader.h"
#include "nascent/nn/network.h"
#include "nascent/search/at_initialisation/reward_regression.h"
#include "nascent/space/space.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/loop.h"

namespace nascent {

struct NasiOptions {
  int steps = 100;                      // T
  double mu = 1;                        // penalty coefficient
  std::string constraint = "adaptive";  // how nu is found: "fixed" or "adaptive" (6.14, 6.15)
  double nu = 0;                        // fixed: nu itself, adaptive: where it starts; 0: from 50 samples
  // What nu takes of the samples' traces: "median", or "mean" as in 6.14 and 6.15. Deep networks without shortcuts have
  // exploding gradients, so that the mean may be a hundred times what most samples have, and binds none of these.
  std::string average = "median";
  double enlarge = 2.5;  // times that, "to encourage architectures with larger complexity" (6.4.1)
  // How the gradient of the expectation is estimated: "straight-through" Gumbel as in the thesis, which differentiates
  // the gradient norm itself; "likelihood-ratio", which needs its value only and is unbiased; or "least-squares" of the
  // same values, which tells apart what the choices of one sample did together, and so needs far fewer samples.
  std::string estimator = "straight-through";
  double temperature = 1;
  // The samples are divided among so many steps, each from the distribution that the one before led to. A step moves
  // the logits along the estimated gradient, the one that moves furthest by `stride`.
  int rounds = 1;
  double stride = 2;
  // Which candidates a straight-through gradient is taken of: "all", so that it knows what those not drawn would do, or
  // "sampled", cheaper and noisier.
  std::string run = "all";
  // "exact", or "finite": several times faster, but a deep network's gradient changes too much over such a distance.
  std::string second_derivatives = "exact";
  void declare(OptionTable& table);  // section "nasi"
};

// The choices of one type of cell and their logits. Where nodes keep all of their inputs, every edge chooses its
// operation by itself; otherwise a node chooses an operation and its inputs, independently (thesis 6.4.2).
class NasiCell {
 public:
  NasiCell(const Space& space, const CellChoices& choices);

  // A sample as the weights of one forward pass: 1 on what was chosen, with the gradient of the softmax. Only what was
  // chosen runs unless `run_all` is set.
  CellMixture sample(RandomStream& random, double temperature, bool run_all = false) const;
  // The logarithm of the probability of what sample() draws from the same stream.
  at::Tensor log_probability(RandomStream& random) const;
  // The most probable choices: the best `keep` inputs and operations of a node, paired by rank.
  CellGenotype mode() const;
  // One row per site or node over operations; one row per node over its inputs, the output last (where inputs are
  // chosen).
  std::vector<at::Tensor> logits() const;

 private:
  struct Choice {                   // of the inputs of a node, or of the output
    std::vector<int> states, rows;  // candidate states, and their rows in the table of edges
    int keep = 1;
    at::Tensor logits;
  };

  bool ops_by_edge() const { return !choices_.ops_on_nodes && inputs_.empty(); }
  std::vector<int> allowed_ops() const;
  void sample_edges(CellMixture& mixture, const at::Tensor& ops, const std::vector<int>& chosen, RandomStream& random,
                    double temperature) const;
  std::vector<int> best_inputs(size_t node) const;

  const std::vector<std::string> ops_;
  const std::vector<std::string> genotype_ops_;
  CellChoices choices_;
  std::vector<CandidateEdge> edges_;
  at::Tensor op_logits_;
  std::vector<Choice> inputs_;
};

// Emits "step" events: trace (the squared gradient norm), nu, penalised.
class Nasi : public Job {
 public:
  // The supernet is at its initialisation and stays there.
  Nasi(std::shared_ptr<const Space> space, std::shared_ptr<Network> supernet, std::unique_ptr<Loader> data,
       const NasiOptions& options, uint64_t seed);

  Genotype genotype() const;

  std::string label() const override { return "nasi"; }
  int64_t epochs() const override;
  int64_t steps() const override;
  void start_epoch(int64_t epoch, int64_t first_step, EventSink& events) override;
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  // The squared norm of the loss gradient of the sample that (seed, purpose, index) draws, and where asked the gradient
  // by the logits that the estimator wants: of that norm, or of the logarithm of the sample's probability.
  struct Measured {
    double trace = 0;
    std::vector<at::Tensor> gradient;
  };
  virtual Measured measure(const TensorBatch& batch, const std::string& purpose, uint64_t index, bool with_gradient);
  std::vector<at::Tensor> logits() const;

 protected:
  Mixture sample(const std::string& purpose, uint64_t index, bool run_all) const;
  std::vector<at::Tensor> likelihood_gradient(const std::string& purpose, uint64_t index) const;

 private:
  bool by_likelihood() const { return options_.estimator != "straight-through"; }
  bool by_least_squares() const { return options_.estimator == "least-squares"; }
  std::vector<at::Tensor> direction() const;
  std::vector<at::Tensor> next_logits() const;
  void set_logits(const std::vector<at::Tensor>& values);
  void end_round();
  double typical(std::vector<double> traces) const;
  double nu() const;
  TensorBatch next_batch();

  std::shared_ptr<const Space> space_;
  std::shared_ptr<Network> supernet_;
  std::unique_ptr<Loader> data_;
  NasiOptions options_;
  uint64_t seed_;
  std::vector<NasiCell> cells_;
  std::vector<at::Tensor> weights_;
  // State, besides the logits: Delta times T, the regression of R (least squares), the largest gradient norm, nu_0, the
  // traces so far, the sum of R, and how many samples these are of in this round.
  std::vector<at::Tensor> moved_;
  RewardRegression regression_;
  double largest_ = 0, first_nu_ = 0, rewards_ = 0;
  int64_t in_round_ = 0;
  std::vector<double> traces_;
};

}  // namespace nascent
