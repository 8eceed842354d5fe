#include "nascent/space/stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nascent/core/error.h"
#include "nascent/core/registry.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

// In the order of StageKind.
constexpr const char* kNamed[] = {"relu", "conv",     "batch_norm",      "max_pool", "avg_pool", "factorized_reduce",
                                  "zero", "truncate", "global_avg_pool", "linear"};
static_assert(std::size(kNamed) == static_cast<size_t>(StageKind::linear) + 1);

}  // namespace

StageKinds::StageKinds() : entries_(std::size(kNamed)) {
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].name = kNamed[i];
}

StageKinds& StageKinds::instance() {
  static StageKinds kinds;
  return kinds;
}

bool StageKinds::add(const std::string& name, std::string description, ShapeRule output, StageFacts facts) {
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& known) { return known.name == name; });
  if (entry == entries_.end()) entry = entries_.insert(entry, Entry{.name = name});
  if (entry->output) fail("Two kinds of stage are registered as '{}'; give one of them another name.", name);
  entry->description = std::move(description);
  entry->output = output;
  entry->facts = facts;
  return true;
}

const StageKinds::Entry& StageKinds::at(StageKind kind) const {
  const auto index = static_cast<size_t>(kind);
  if (index >= entries_.size() || !entries_[index].output)
    fail("There is no stage of kind {}.", static_cast<int>(kind));
  return entries_[index];
}

StageKind StageKinds::named(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].name == name) return static_cast<StageKind>(i);
    names.push_back(entries_[i].name);
  }
  fail("There is no stage '{}'.{} Known: {}.", name, suggestion(name, names), join(names, ", "));
}

std::vector<StageKind> StageKinds::all() const {
  std::vector<StageKind> kinds;
  for (size_t i = 0; i < entries_.size(); ++i) kinds.push_back(static_cast<StageKind>(i));
  return kinds;
}

StageKind stage_kind(const std::string& name) { return StageKinds::instance().named(name); }
const std::string& name_of(StageKind kind) { return StageKinds::instance().at(kind).name; }

void check_stage(const Stage& stage) {
  const StageKinds::Entry& entry = StageKinds::instance().at(stage.kind);
  constexpr int kMost = 1 << 20;
  const auto within = [&](const char* what, int value, int least) {
    if (value >= least && value <= kMost) return;
    fail("A {} has {} {}, but it must lie between {} and {}.", entry.description, what, value, least, kMost);
  };
  for (const auto& [what, value] : {std::pair{"in", stage.in},
                                    {"out", stage.out},
                                    {"kernel_h", stage.kernel_h},
                                    {"kernel_w", stage.kernel_w},
                                    {"stride_h", stage.stride_h},
                                    {"stride_w", stage.stride_w},
                                    {"dilation", stage.dilation},
                                    {"groups", stage.groups}}) {
    within(what, value, 1);
  }
  within("padding_h", stage.padding_h, 0);
  within("padding_w", stage.padding_w, 0);
  if (entry.facts.keeps_channels && stage.in != stage.out) {
    fail("A {} does not change the number of channels; {} from {} was asked for.", entry.description, stage.out,
         stage.in);
  }
  if (entry.facts.check) entry.facts.check(stage);
}

Shape Stage::output(const Shape& input) const {
  const StageKinds::Entry& entry = StageKinds::instance().at(kind);
  const int64_t features = entry.facts.flattens ? input.count() : input.channels;
  if (features != in) {
    fail("A {} expects {} channels but was given {} ({}).", entry.description, in, features, input.text());
  }
  return entry.output(*this, input);
}

int64_t Stage::parameters() const {
  const StageFacts& facts = StageKinds::instance().at(kind).facts;
  return facts.parameters ? facts.parameters(*this) : 0;
}

int64_t Stage::multiply_adds(const Shape& input) const {
  const Shape shape = output(input);
  const StageFacts& facts = StageKinds::instance().at(kind).facts;
  return facts.multiply_adds ? facts.multiply_adds(*this, shape) : 0;
}

Shape output_shape(const Stages& stages, Shape input) {
  for (const Stage& stage : stages) input = stage.output(input);
  return input;
}

int64_t parameters(const Stages& stages) {
  int64_t sum = 0;
  for (const Stage& stage : stages) sum += stage.parameters();
  return sum;
}

int64_t multiply_adds(const Stages& stages, Shape input) {
  int64_t sum = 0;
  for (const Stage& stage : stages) {
    sum += stage.multiply_adds(input);
    input = stage.output(input);
  }
  return sum;
}

namespace stage {

Stage relu(int channels) { return {.kind = StageKind::relu, .in = channels, .out = channels}; }

Stage conv(int in, int out, int kernel, int stride, int padding, int dilation, int groups) {
  const int pad = padding >= 0 ? padding : dilation * (kernel - 1) / 2;
  return {.kind = StageKind::conv,
          .in = in,
          .out = out,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .padding_h = pad,
          .padding_w = pad,
          .dilation = dilation,
          .groups = groups};
}

Stage conv_hw(int in, int out, int kernel_h, int kernel_w, int stride_h, int stride_w) {
  return {.kind = StageKind::conv,
          .in = in,
          .out = out,
          .kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride_h = stride_h,
          .stride_w = stride_w,
          .padding_h = (kernel_h - 1) / 2,
          .padding_w = (kernel_w - 1) / 2};
}

Stage depthwise(int channels, int kernel, int stride, int dilation) {
  return conv(channels, channels, kernel, stride, -1, dilation, channels);
}

Stage batch_norm(int channels, bool affine) {
  return {.kind = StageKind::batch_norm, .in = channels, .out = channels, .affine = affine};
}

Stage max_pool(int channels, int kernel, int stride, int padding) {
  Stage pool = conv(channels, channels, kernel, stride, padding);
  pool.kind = StageKind::max_pool;
  return pool;
}

Stage avg_pool(int channels, int kernel, int stride, int padding) {
  Stage pool = conv(channels, channels, kernel, stride, padding);
  pool.kind = StageKind::avg_pool;
  return pool;
}

Stage factorized_reduce(int in, int out) {
  return {.kind = StageKind::factorized_reduce, .in = in, .out = out, .stride_h = 2, .stride_w = 2};
}

Stage zero(int in, int out, int stride) {
  return {.kind = StageKind::zero, .in = in, .out = out, .stride_h = stride, .stride_w = stride};
}

Stage truncate(int in, int out) { return {.kind = StageKind::truncate, .in = in, .out = out}; }

Stage global_avg_pool(int channels) { return {.kind = StageKind::global_avg_pool, .in = channels, .out = channels}; }

Stage linear(int in, int out) { return {.kind = StageKind::linear, .in = in, .out = out, .bias = true}; }

}  // namespace stage

}  // namespace nascent
