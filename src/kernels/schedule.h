// When the parts of a cell are computed. A phase is a loop over images in which every image passes through all of the
// phase's steps while it is in the cache; a new phase begins only where the whole batch is needed: for statistics over
// it, and for plain units, which are computed when all images have passed.
#pragma once

#include <vector>

#include "nascent/kernels/cell_program.h"

namespace nascent::kernels {

// Of a phase: the parts of each wave do not wait for one another, only for those of earlier waves. So where a batch has
// too few images for all threads, the parts of one image are divided among them.
template <class Part>
using Waves = std::vector<std::vector<Part>>;

struct ForwardSchedule {
  std::vector<std::vector<Step>> phases;
  std::vector<Waves<Step>> waves;       // per phase
  std::vector<std::vector<int>> plain;  // per phase: the plain units at its end
  std::vector<int> phase;               // per value: when it is computed; inputs: 0
  std::vector<int> last;                // per value: when it is read last
};

// Without batch statistics and plain units everything is one phase.
ForwardSchedule schedule_forward(const CellProgram& program, bool batch_statistics);

// Per value: the backward pass makes it again instead of finding it kept, because it takes more memory than time:
// states that are one value normalised, pools that mixtures read, and what lies between two separable convolutions of
// few channels. In the first cells of a DARTS network these are four values of ten.
std::vector<bool> remade_values(const CellProgram& program, const std::vector<std::vector<Reader>>& readers);

// Per value: the gradients of the inputs depend on its numbers, even where those of nothing else are wanted and norms
// are constants: because it is rectified, because a max pool reads or makes it, or because a plain unit reads it.
std::vector<bool> values_behind_input_gradients(const CellProgram& program,
                                                const std::vector<std::vector<Reader>>& readers);

// Whether a separable convolution of so many taps and channels is worth it: multiply-adds per result.
inline bool is_cheap(size_t taps, int channels) {
  constexpr int kMost = 80;
  return static_cast<int>(taps) + channels <= kMost;
}

// The backward pass goes from value to value: the gradient of a value is complete when every unit that reads it has
// been differentiated, which is done then and there, for a plain unit at the end of the phase that visits its output.
struct BackwardSchedule {
  struct Span {
    int first = 0, last = -1;
  };
  std::vector<std::vector<int>> phases;  // values
  std::vector<Waves<int>> waves;         // per phase
  std::vector<int> phase;                // per value; -1: not visited
  // What is made again at the start of a phase: states and pools. Others are when they are visited.
  std::vector<std::vector<Step>> again;
  std::vector<Span> needed;  // per value that is made again: the phases that read it
};

// `visit` says which values are visited: states, inputs that want gradients (or have units with weights that do), and
// values between units.
BackwardSchedule schedule_backward(const CellProgram& program, const std::vector<std::vector<Reader>>& readers,
                                   const std::vector<bool>& visit, const std::vector<bool>& remade,
                                   bool batch_statistics);

}  // namespace nascent::kernels
