// Weights in the order in which the kernels read them, and gradients back in LibTorch's order.
#pragma once

#include <cstddef>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/kernels/winograd.h"

namespace nascent::kernels {

// Offsets (in floats) of one unit's arrays within a block for the whole cell. In programs of bf16 weights lie in pairs,
// see image_kernels.h.
struct UnitPacking {
  size_t depthwise = 0;   // [tap][input]
  size_t dense = 0;       // [tap][input][output], outputs padded
  size_t transposed = 0;  // [tap][output][input], inputs padded; for the backward pass
  bool winograd = false;  // the last two are at the points of winograd.h: [point][point] instead of [tap]
};

class Packing {
 public:
  Packing(const CellProgram& program, bool backward);

  size_t floats() const { return floats_; }
  const UnitPacking& unit(int index) const { return units_[index]; }
  // Of a depthwise convolution, a dense one, or the transposed one, in such a block.
  ConstNumbers depthwise(int unit, const float* block) const {
    return {block + units_[unit].depthwise, program_.precision};
  }
  ConstNumbers dense(int unit, const float* block) const { return {block + units_[unit].dense, program_.precision}; }
  ConstNumbers transposed(int unit, const float* block) const {
    return {block + units_[unit].transposed, program_.precision};
  }
  // Those of a tap, of so many inputs and (padded) outputs.
  ptrdiff_t tap_numbers(int inputs, int outputs) const;

  // Where gradients of a unit's weights are summed: [tap][input], then [tap][input][output], in Winograd's form with
  // [point][row of the kernel] instead of [tap].
  size_t gradient_floats() const { return gradient_floats_; }
  size_t depthwise_gradient(int unit) const { return gradients_[unit].depthwise; }
  size_t dense_gradient(int unit) const { return gradients_[unit].dense; }

  // Outputs are scaled by `scale` where that is given, in both directions; it may not be for Winograd's form.
  void pack(int unit, const std::vector<const float*>& parameters, const float* scale, float* block) const;
  // Writes the sum over `groups` blocks of gradients, `gradient_floats()` apart. `points`: where the weights have
  // Winograd's form, so have the gradients; else they are those of the taps.
  void unpack(int unit, const float* gradients, int groups, bool points, const std::vector<float*>& parameters) const;

  // Where in such a block, of gradients of taps, those of a parameter's numbers are: each of them in one span, and
  // nothing else.
  struct GradientSpan {
    int parameter;
    size_t first, count;
  };
  std::vector<GradientSpan> gradient_spans(int unit) const;

 private:
  void pack_depthwise(const Unit& unit, const float* weights, float* to) const;
  void pack_winograd(int unit, const float* weights, float* block) const;
  void unpack_winograd(int unit, const float* gradients, int groups, float* weights) const;
  size_t depthwise_floats(const Unit& unit) const;
  size_t dense_floats(size_t taps, int inputs, int outputs) const;
  int inputs(const Unit& unit) const;
  int outputs(const Unit& unit) const;

  const CellProgram& program_;
  bool backward_;
  size_t floats_ = 0, gradient_floats_ = 0;
  std::vector<UnitPacking> units_, gradients_;
};

}  // namespace nascent::kernels
