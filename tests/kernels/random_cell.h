// Random programs of cells like those of DARTS, and passes through them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/kernels/cell_run.h"

namespace nascent::kernels {

struct RandomCellOptions {
  uint64_t seed = 0;
  int channels = 4, height = 6, width = 6;
  bool reduction = false;
  int partial = 1;
  bool plain = true;
  Precision precision = Precision::single;
  bool discrete = false;  // one candidate per edge, without a weight
};

// Two inputs of any number of channels, preprocessed; two nodes with two edges of two candidates each: separable,
// dilated, dense and bare depthwise convolutions, pools, skip connections, factorised reduces and, if wanted, plain
// units.
CellProgram random_cell(const RandomCellOptions& options);

struct RandomPassOptions {
  uint64_t seed = 0;
  int images = 2, threads = 1;
  bool training = true, keep = true, weights_per_image = false;
  bool inputs_only = false;  // no other gradients are asked for
  bool samples = false;      // moments of single images' gradients too
  int first_image = 0;       // of those that are drawn; so `images` of them are run
  int drawn = 0;             // 0: as many as are run
};

// What a pass gives, by name, as floats. Every other pass is given its first input as floats, whatever the program's
// precision. Plain units compute 2 x + b.
using PassResult = std::vector<std::pair<std::string, std::vector<float>>>;
PassResult run_random_pass(const CellProgram& program, const RandomPassOptions& options);

}  // namespace nascent::kernels
