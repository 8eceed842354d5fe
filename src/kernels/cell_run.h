// One pass of a batch through a cell: forward, then backward where that is wanted.
//
//   CellRun run(program, {.images = 64, .training = true, .keep = true, .inputs = ..., ...});
//   run.forward(output);
//   run.backward({.output_gradient = g, ...});
#pragma once

#include <memory>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/kernels/memory.h"
#include "nascent/kernels/packing.h"
#include "nascent/kernels/plain_unit.h"
#include "nascent/kernels/schedule.h"

namespace nascent::kernels {

struct RunningStatistics {
  float* mean = nullptr;
  float* variance = nullptr;
};

// Arrays are channels last and not padded, parameters as LibTorch stores them. Outputs are stored in the program's
// precision, and so are their gradients.
struct ForwardCall {
  int images = 0;
  int threads = 1;
  bool training = true;  // batch norms use the statistics of the batch and update the running ones
  bool keep = true;      // a backward pass may follow
  // It will be asked for the gradients of inputs alone. In evaluation mode hardly anything is then kept.
  bool inputs_only = false;
  std::vector<ConstNumbers> inputs{};  // of either kind
  std::vector<const float*> parameters{};
  std::vector<RunningStatistics> running{};  // per norm
  const float* weights = nullptr;            // [rows], or [rows, images]
  int weight_rows = 0;
  bool weights_per_image = false;
  std::vector<PlainFunction> plain{};  // input to output
  float momentum = 0.1f, epsilon = 1e-5f;
};

// Of each parameter, what is known about the gradients of single images.
struct SampleMoments {
  std::vector<double> squares;     // [parameter, image]: the gradient's squared norm
  std::vector<double> deviations;  // [parameter]: sum over images of its squared distance from the images' mean
};

// Null pointers: not wanted. What is wanted is overwritten, but the gradients of weights are added to what is there.
struct BackwardCall {
  ConstNumbers output_gradient = nullptr;
  std::vector<Numbers> inputs{};  // of either kind
  std::vector<float*> parameters{};
  float* weights = nullptr;            // shaped like the weights
  std::vector<PlainFunction> plain{};  // gradient of the output to that of the input; see to gradients of parameters
  // Filled for the parameters whose gradients are wanted. In evaluation mode, where images do not depend on one
  // another, and without plain units only.
  SampleMoments* samples = nullptr;
};

struct Scratch;

class CellRun {
 public:
  CellRun(std::shared_ptr<const CellProgram> program, ForwardCall call);
  ~CellRun();

  // Once. Fills `output`, channels last.
  void forward(Numbers output);
  // Once, after forward(). The inputs of the forward call must still be as they were; its output, weights and
  // parameters need not.
  void backward(const BackwardCall& call);

 private:
  friend class CellBackward;

  // How a norm acts: normalised = scale * value + shift. Vectors are as long as the value's padded channels and zero
  // behind the true ones.
  struct NormCoefficients {
    std::vector<float> mean, inverse;         // inverse: 1 / sqrt(variance + epsilon)
    std::vector<float> scale, shift, offset;  // offset: what is added behind the scale, the bias if there is one
  };

  // What becomes of the sums of a convolution. Where norms are constants and no gradients of parameters are wanted, a
  // norm is part of the weights, and what a state is the sum of is added to the state at once, instead of being stored.
  struct UnitEnd {
    int value = -1;              // where they go: the unit's output, or a state
    int norm = -1;               // the norm that the weights contain
    bool adds = false;           // to what is there already
    std::vector<float> start{};  // what they begin with; none: zero
  };

  void plan_keeping();
  void place_inputs();
  void place_values();
  void place_in_output();
  bool is_output(int value) const;
  void make_scratch(bool backward);
  void plan_ends();
  void plan_sums();
  bool ends_in_product(int unit) const;
  void pack_weights(const std::vector<const float*>& parameters);
  void run_phase(size_t phase);
  std::vector<std::vector<Step>> parts_of(const std::vector<Step>& wave) const;
  void run_step(const Step& step, int n, int thread);
  void run_unit(int index, int n, int thread);
  void pool(int index, int n, int thread) const;
  void make_again(const Step& step, int n, int thread);
  void run_plain(int index) const;
  // `again`: for the backward pass, which needs the result near and knows its moments.
  void convolve(int index, int n, int thread, bool again = false);
  void add_moments(int value, int n, ConstNumbers rows, size_t pixels, bool first);
  void run_mix(int index, int n, int thread);
  void write_output(int value, int n, ConstNumbers image) const;
  void finish_statistics(int phase);
  void take_running_statistics(int norm);
  void take_batch_statistics(int norm);
  void set_norm(int norm, std::vector<float> mean, const std::vector<double>& variance);

  // Shared with the backward pass.
  int channels(int value) const { return padded(program_->values[value].channels); }
  ptrdiff_t pixel(int value) const { return pixel_[value]; }  // numbers from one to the next
  size_t image_numbers(int value) const { return program_->values[value].pixels() * channels(value); }
  Numbers image(int value, int n, int thread) const;
  // As values are stored.
  Numbers stored(float* memory) const { return {memory, program_->precision}; }
  size_t floats_of(size_t numbers) const { return floats_for(numbers, program_->precision); }
  float weight(int row, int n) const;
  // Null where a value is read as it is.
  const NormCoefficients* norm_of(const Read& read) const;
  void make_ready(const Read& read, int n, int thread, int first, int rows, Rows<Stored> to) const;
  // The input of a convolution, transformed and with a halo, so many rows of it at least; kept until two others are
  // asked for.
  ConstNumbers padded_input(int unit, int n, int thread, int rows);
  // Some rows of it, where there is no halo.
  ConstNumbers ready_rows(int unit, int n, int thread, int first, int rows);
  // Fills scratch.terms and scratch.bias.
  void fill_terms(const std::vector<Term>& terms, int c, int n, int thread);

  std::shared_ptr<const CellProgram> program_;
  ForwardCall call_;
  Numbers output_ = nullptr;
  const ImageKernels& kernels_;
  ForwardSchedule schedule_;
  Packing packing_;
  std::vector<float> mixture_;                 // a copy of the weights
  std::vector<Halo> halos_;                    // per unit; the same for all that read the same
  std::vector<bool> normalised_;               // per value: somebody reads it normalised
  bool folds_ = false;                         // norms into weights: see UnitEnd
  bool divides_images_ = false;                // among threads, as there are fewer images than threads
  std::vector<bool> kept_;                     // per value: the backward pass finds it as the forward pass left it
  std::vector<bool> remade_;                   // per value: the backward pass, if there is one, makes it again
  std::vector<int> maker_;                     // per value: the unit that makes it, -1: none
  std::vector<UnitEnd> ends_;                  // per unit
  std::vector<std::vector<Term>> terms_left_;  // per mixture: what units do not add to it themselves
  std::vector<Numbers> value_;                 // first image of each value
  std::vector<ptrdiff_t> pixel_;
  std::vector<size_t> image_stride_;  // numbers to the next image; 0 where every thread has its own
  std::vector<size_t> thread_stride_;
  std::vector<size_t> moments_offset_;
  bool streams_ = false;    // values are written past the caches
  bool in_output_ = false;  // states lie in the output
  std::vector<NormCoefficients> norms_;
  Block packed_, values_, imported_, moments_;
  Block passing_;                                  // values that are not kept for the backward pass
  std::vector<std::unique_ptr<Scratch>> scratch_;  // per thread, while there is work
};

}  // namespace nascent::kernels
