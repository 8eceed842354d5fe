// TE-NAS (Chen et al., 2021): from the network with every operation on every edge, the operation that matters least is
// pruned from each edge, round by round, until one is left. What matters is ranked by two measures without training:
// how much the condition number of the tangent kernel rises, and how many linear regions are lost, when an operation is
// taken away.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/score/probe.h"
#include "nascent/train/loop.h"

namespace nascent {

struct TeNasOptions {
  int repeats = 3;     // initialisations that each change is averaged over
  int batch = 72;      // images of the tangent kernel
  int channels = 3;    // of the network that the tangent kernel is taken from
  int regions = 3000;  // patches that linear regions are counted with
  // When networks and images are drawn anew: for every round of pruning, so that the effects of all operations are
  // compared in the same networks, or for every operation, as the authors do.
  std::string redraw = "round";
  std::string initialiser = "he";    // of the network that the tangent kernel is taken from; the authors': he-fan-out
  bool norm_scales = false;          // whether the kernel has the batch norms' scales among its parameters, as theirs
  void declare(OptionTable& table);  // section "te-nas"
};

struct TeNasSetup {
  std::shared_ptr<const Space> space;
  at::Tensor images;  // [N, channels, height, width], that batches and patches are drawn from
  int classes = 10;
  KernelGradients ntk = KernelGradients::constant;
  uint64_t seed = 1;
};

// What taking an operation away does, as parts of what there was: to the condition number of the tangent kernel, which
// should fall, and to the number of linear regions, which should not.
struct PruningEffect {
  double kappa_fall = 0, regions_lost = 0;
};
// The rank of each operation by its effect: the lower, the sooner it is pruned. Ranks by both measures, effects that
// agree to a thousandth sharing one, are added; what is left equal goes by the condition number.
std::vector<std::pair<int, int>> pruning_ranks(const std::vector<PruningEffect>& effects);

// A Job: every step measures what taking one operation away does, and the last of a round prunes.
class TeNas : public Job {
 public:
  // An Error for spaces whose operations stand on nodes, and where there are too few or too small images.
  TeNas(const TeNasSetup& setup, const TeNasOptions& options);
  ~TeNas() override;

  std::string label() const override { return "te-nas"; }
  int64_t epochs() const override { return 1; }
  int64_t steps() const override { return steps_; }
  void start_epoch(int64_t, int64_t, EventSink&) override {}
  StepReport step(int64_t epoch, int64_t step, EventSink& events) override;
  void end_epoch(int64_t, EventSink&) override {}
  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

  // What is left, once it has run.
  Genotype genotype() const;

 private:
  struct Place {
    std::string type{};
    size_t edge = 0, op = 0;  // op: position in left_
  };
  struct Measures {
    double kappa = 0, regions = 0;
  };
  struct Instance;

  std::vector<Place> places() const;
  at::Tensor draw_images(uint64_t seed) const;
  at::Tensor draw_patches(uint64_t seed) const;
  void draw_instances();
  Measures measure(const Instance& instance, const Candidates& left) const;
  PruningEffect effect_of(const Place& place) const;
  void prune(const std::vector<Place>& all);

  TeNasSetup setup_;
  TeNasOptions options_;
  NetworkPlan kernel_plan_, thin_plan_;
  int64_t steps_ = 0;
  Candidates left_;
  uint64_t round_ = 0;
  std::map<std::pair<std::string, size_t>, int> strength_;  // by cell and edge
  std::vector<PruningEffect> effects_;                      // of this round so far
  std::vector<std::unique_ptr<Instance>> instances_;        // of this round; empty: not drawn yet
};

// Runs it to its end, without checkpoints.
Genotype te_nas(const TeNasSetup& setup, const TeNasOptions& options);

// One cell of each type, of one channel: what linear regions are counted in. Without the stem where cells can take the
// patch itself.
NetworkPlan thin_supernet(const Space& space, int classes);

}  // namespace nascent
