// A cell as the engine sees it: values (batches of images), units that compute values from values, and mixtures that
// add up normalised values into the states of the cell.
//
// A unit ends where statistics over the whole batch are needed, so everything between two batch norms is done to one
// image while it is in the cache. A batch norm is never computed by itself: whoever reads a value normalises it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/kernels/image_kernels.h"

namespace nascent::kernels {

struct ValueShape {
  int channels = 0, height = 0, width = 0;
  bool operator==(const ValueShape&) const = default;
  size_t pixels() const { return static_cast<size_t>(height) * width; }
};

// What is read of a value: `channels` from `first` on, normalised by `norm` (-1: not), then rectified.
struct Read {
  int value = -1;
  int first = 0, channels = 0;
  int norm = -1;
  bool relu = false;
  bool operator==(const Read&) const = default;
};

struct TapAt {
  int dy = 0, dx = 0;  // from pixel (y * stride, x * stride) of the input
};

// A convolution (depthwise, dense, or the one after the other) or a pool; or a plain unit: whatever the engine has no
// kernels for, computed by a function that the caller gives (plain_unit.h). Pools and plain units read values as they
// are.
struct Unit {
  enum class Kind { convolution, max_pool, avg_pool, plain };
  Kind kind = Kind::convolution;
  Read input{};
  int output = -1;
  std::vector<TapAt> depthwise{}, dense{};
  int stride_h = 1, stride_w = 1;
  int depthwise_weight = -1, dense_weight = -1;  // indices of parameters
  // A factorised reduce: the first half of the outputs belongs to dense tap 0, the others to tap 1.
  bool halves = false;
  Window window{};
  int plain = -1;                 // index of the function
  std::vector<int> parameters{};  // that a plain unit reads

  bool is_pool() const { return kind == Kind::max_pool || kind == Kind::avg_pool; }
};

// A batch norm of a value. `weight` and `bias` are parameters, -1 where it is not affine; its running statistics have
// its own index.
struct Norm {
  int value = -1;
  int weight = -1, bias = -1;
};

struct Term {
  Read read{};
  int weight = -1;  // row of the weights; -1: one
};

// The state that a node holds. With partial channels (K = `partial` > 1) the terms make up the first 1/K of the
// channels, the bypass terms the others, and the two are shuffled: channel j * K + g is channel j of group g.
struct Mix {
  int output = -1;
  std::vector<Term> terms{};
  int partial = 1;
  std::vector<Term> bypass{};
};

// A unit or a mixture.
struct Step {
  bool is_mix = false;
  int index = 0;
};

struct CellProgram {
  Precision precision = Precision::single;  // that values are stored in
  std::vector<ValueShape> values;
  int inputs = 0;  // the first values are given
  std::vector<Unit> units;
  std::vector<Norm> norms;
  std::vector<Mix> mixes;
  std::vector<Step> steps;          // in an order in which everything is computed before it is read
  std::vector<int> outputs;         // values that are concatenated; made by mixtures
  std::vector<int64_t> parameters;  // numbers of elements

  int add_value(const ValueShape& shape);
  void add(Unit unit);
  void add(Mix mix);
  int output_channels() const;
};

// Where a program's values are read. Throws std::logic_error where the program breaks a rule: a value that units read
// normalised is read whole, and by nothing else; what goes into a plain unit or comes out of one is not normalised.
struct Reader {
  bool is_mix = false, is_bypass = false;
  int index = 0;  // of the unit or mixture
  int term = 0;
};
std::vector<std::vector<Reader>> readers_of(const CellProgram& program);
const Read& read_of(const CellProgram& program, const Reader& reader);

// Rows and columns of zeros around the input that the taps of a unit reach.
struct Halo {
  int h = 0, w = 0;
  bool operator==(const Halo&) const = default;
};
Halo halo_of(const CellProgram& program, const Unit& unit);

// How the taps of a depthwise convolution lie.
Grid grid_of(const Unit& unit);

// Multiply-adds of a forward pass over one image, without those of plain units.
double multiply_adds(const CellProgram& program);

}  // namespace nascent::kernels
