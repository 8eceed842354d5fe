// A stage is one primitive layer. Every operation and every fixed block of a network is a list of stages, and
// everything else follows from that list: the LibTorch module, the fused kernel, the parameter count and the
// multiply-adds.
//
// What a kind of stage is stands in three tables, one for each room that must know something of it: StageRule here,
// LayerRule in nn (its LibTorch module and its fused form), TapeRule in score. A new kind is one entry in each, at the
// foot of one file; docs/adding.md shows one. Its name in the tables is its text form in model files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/core/shape.h"

namespace nascent {

struct Stage;

// The kinds that code names. Others are registered beside them; see stage_kind().
enum class StageKind : int {
  relu,
  conv,        // bias only where `bias` is set
  batch_norm,  // over `in` channels, learnt scale and shift where `affine`
  max_pool,
  avg_pool,  // padding does not count towards the mean, as in DARTS
  // Two 1x1 stride-2 convolutions, concatenated: the first out/2 channels from pixels (0, 0), (0, 2), ..., the other
  // out - out/2 from the image shifted up and left by one pixel. Where a side is odd the shifted image ends in a zero,
  // so both halves are ceil(side/2).
  factorized_reduce,
  zero,             // zeros of the output's shape, sides ceil(side/stride)
  truncate,         // the first `out` channels (NAS-Bench-101)
  global_avg_pool,  // C x H x W -> C x 1 x 1
  linear,           // flattens first
};

struct Stage {
  StageKind kind;
  int in = 0, out = 0;  // channels (features for linear)
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int padding_h = 0, padding_w = 0;
  int dilation = 1;
  int groups = 1;  // conv: `in` for depthwise
  bool affine = true;
  bool bias = false;

  // The shape after this stage; an Error if `input` cannot pass through it.
  Shape output(const Shape& input) const;
  int64_t parameters() const;
  // Multiplications that are added up, of one image: convolutions and linear layers, as the papers count them.
  int64_t multiply_adds(const Shape& input) const;

  bool operator==(const Stage&) const = default;
};

using Stages = std::vector<Stage>;  // an empty list is the identity

// What the shape rule of a kind does not say.
struct StageFacts {
  int64_t (*parameters)(const Stage& stage) = nullptr;                          // null: none
  int64_t (*multiply_adds)(const Stage& stage, const Shape& output) = nullptr;  // null: none
  bool flattens = false;                                                        // reads all pixels as channels
  bool keeps_channels = true;                                                   // `in` and `out` are the same
  void (*check)(const Stage& stage) = nullptr;  // an Error where numbers of its own are out of range
};

// All kinds by name: NASCENT_REGISTER(StageRule, "conv", "convolution", shape_rule, StageFacts{...}).
class StageKinds {
 public:
  using ShapeRule = Shape (*)(const Stage& stage, const Shape& input);
  struct Entry {
    std::string name{}, description{};
    ShapeRule output = nullptr;
    StageFacts facts{};
  };

  static StageKinds& instance();
  bool add(const std::string& name, std::string description, ShapeRule output, StageFacts facts = {});
  const Entry& at(StageKind kind) const;
  // An unknown name lists the known ones.
  StageKind named(const std::string& name) const;
  std::vector<StageKind> all() const;

 private:
  StageKinds();
  std::vector<Entry> entries_;  // by kind
};

struct StageRule {
  using Registry = StageKinds;
};

StageKind stage_kind(const std::string& name);
const std::string& name_of(StageKind kind);

// An Error where a number of the stage is out of range, whatever passes through it.
void check_stage(const Stage& stage);

Shape output_shape(const Stages& stages, Shape input);
int64_t parameters(const Stages& stages);
int64_t multiply_adds(const Stages& stages, Shape input);

// Makers of the usual stages.
namespace stage {
Stage relu(int channels);
Stage conv(int in, int out, int kernel, int stride = 1, int padding = -1, int dilation = 1,
           int groups = 1);                                                              // -1: "same"
Stage conv_hw(int in, int out, int kernel_h, int kernel_w, int stride_h, int stride_w);  // "same" padding
Stage depthwise(int channels, int kernel, int stride, int dilation = 1);                 // "same" padding
Stage batch_norm(int channels, bool affine = true);
Stage max_pool(int channels, int kernel, int stride, int padding);
Stage avg_pool(int channels, int kernel, int stride, int padding);
Stage factorized_reduce(int in, int out);
Stage zero(int in, int out, int stride);
Stage truncate(int in, int out);
Stage global_avg_pool(int channels);
Stage linear(int in, int out);
}  // namespace stage

}  // namespace nascent
