// The backward pass of a CellRun.
#pragma once

#include <span>
#include <vector>

#include "nascent/kernels/cell_run.h"

namespace nascent::kernels {

class CellBackward {
 public:
  CellBackward(CellRun& run, const BackwardCall& call);
  void run();

 private:
  // What batch norm's own gradient adds to that of its value: value_scale * (value - mean) + constant.
  struct NormGradient {
    std::vector<float> value_scale, constant;
  };

  bool is_lone(int value) const;
  // What a convolution reads and makes: images, channels as they are and padded, floats from row to row of its padded
  // input and between the pixels that neighbouring outputs see.
  struct UnitShape {
    ValueShape in, out;
    Halo halo;
    int ci, cip, cop;
    ptrdiff_t row, step;
    bool strided;
  };
  UnitShape shape_of(int unit) const;

  std::vector<bool> values_to_visit() const;
  void place_gradients();
  void run_phase(int phase);
  void run_phase_in_parts(int phase);
  float* gradients_of_group(int group);
  void finish_phase(const std::vector<int>& values);

  void visit(int value, int n, int thread, float* weight_gradients);
  Numbers home(int value, int n, int thread) const;
  float* start_gradient(int value, int n, int thread);
  void add_from_mixes(int value, int n, int thread, float* gradient);
  void add_from_pools(int value, int n, int thread, float* gradient);
  void add_from_convolutions(int value, int n, int thread, float* gradient, float* weight_gradients);
  MixTerm term_of(const Read& read, int n, int thread) const;
  Rows<const float> through_convolutions(std::span<const int> units, int n, int thread, bool wants_input,
                                         float* weight_gradients);
  // `add`: to the gradient of the padded input instead of writing it.
  void convolution(int unit, int n, int thread, bool wants_input, bool add, float* weight_gradients);
  void separable(int unit, int n, int thread, ConstNumbers input, float* input_gradient, bool add,
                 float* weight_gradients);
  void dense(int unit, int n, int thread, ConstNumbers input, float* input_gradient, bool add, float* weight_gradients);
  void split_partial(int mix, int slot, const float* gradient);
  void sum_mix(int mix, int n, int thread);
  float* sums_between(int value, int n);
  void write_input_gradient(int value, int n, const float* gradient);

  // Of plain units; see cell_plain.cc.
  bool wants_parameters(const Unit& unit) const;
  bool wants_input(const Unit& unit) const;
  void run_plain(int unit);
  void add_from_plain(int value, int n, float* gradient);

  // What flows into the output of a unit, into scratch.inflows, value_scale and constant.
  void gather(int value, int n, int thread);
  // The gradient where it lies already, unchanged; null where it has to be made of what was gathered.
  ConstNumbers ready_gradient(int thread) const;
  // Its gradient for `pixels` pixels from `from` on.
  void output_gradient(int value, int n, int thread, size_t from, size_t pixels, Numbers to);

  // How units read the value; by itself where none does.
  Read between_read(int value) const;
  void finish_terms(int mix, bool bypass);
  std::vector<double> finish_term(int mix, bool bypass, int term);
  void finish_between(int value);
  void finish_norm(int norm, const std::vector<double>& plain, const std::vector<double>& product);
  // Of the norm's scale and shift: `gradients(n, k)` are the sums of finish_norm() of image n alone, in channel k.
  template <class Gradients>
  void note_norm_samples(int norm, const std::vector<double>& plain, const std::vector<double>& product,
                         const Gradients& gradients);

  // Of weights: `own` is the gradient of the `before`-th image of a group, whose sum it is added to.
  void note_weight_samples(int n, int before, const float* own, float* sum, std::vector<double>& deviations);
  void finish_weight_samples();
  int group_begin(int group) const { return static_cast<int>(int64_t{run_.call_.images} * group / groups_); }

  Numbers plane(int mix, bool bypass, int slot) const;
  int plane_channels(int mix, bool bypass) const;
  // The place of an image's gradients among those in memory: where all is one phase, a thread has but one image.
  int slot(int n, int thread) const { return single_ ? thread : n; }

  CellRun& run_;
  const BackwardCall& call_;
  const CellProgram& program_;
  const ImageKernels& kernels_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<int> mix_of_;    // per value: the mixture that makes it, -1: none
  std::vector<int> plain_of_;  // per value: the plain unit that makes it, -1: none
  // Some reader takes channels that do not fill whole vectors, so its gradient reaches a little past a pixel: such a
  // gradient is gathered in the thread's own memory, where that does no harm.
  std::vector<bool> apart_;
  // Only convolutions read it, all the same way: they make its whole gradient, which need not start from zero.
  std::vector<bool> lone_;
  bool wants_weights_ = false;
  bool wants_sums_ = false;      // over pixels, for norms and mixture weights
  bool divides_images_ = false;  // among threads
  bool single_ = false;          // one phase, through which a thread takes one image after the other
  BackwardSchedule schedule_;
  std::vector<Numbers> main_, bypass_, between_;  // first gradients: per mixture, mixture, value
  std::vector<Numbers> plain_input_;              // per unit, null but for plain ones whose input wants a gradient
  std::vector<size_t> main_sums_, bypass_sums_, between_sums_;
  std::vector<NormGradient> norms_;
  Block gradients_, sums_, weight_gradients_;
  int groups_ = 1;  // of images whose weight gradients are summed together
  std::vector<float> ones_, zeros_;
  std::vector<Packing::GradientSpan> spans_;           // of weights, where single images are asked about
  std::vector<std::vector<double>> group_deviations_;  // [group][parameter], from the group's mean
};

}  // namespace nascent::kernels
