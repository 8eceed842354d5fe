#include "kernels/random_cell.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace nascent::kernels {

namespace {

std::vector<TapAt> square_taps(int side, int dilation = 1) {
  std::vector<TapAt> taps;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) taps.push_back({(y - side / 2) * dilation, (x - side / 2) * dilation});
  }
  return taps;
}

class Builder {
 public:
  explicit Builder(const RandomCellOptions& options) : options_(options), random_(options.seed, "random-cell") {}

  CellProgram build() {
    program_.precision = options_.precision;
    program_.inputs = 2;
    const int c = options_.channels;
    for (const int channels : {c, 1 + below(2 * c)}) program_.add_value({channels, options_.height, options_.width});
    for (int input = 0; input < 2; ++input) states_.push_back(preprocessed(input));
    for (int node = 0; node < 2; ++node) {
      states_.push_back(new_node());
      program_.outputs.push_back(states_.back());
    }
    return std::move(program_);
  }

 private:
  int below(int n) { return static_cast<int>(random_.below(n)); }
  Read whole(int value) const { return {.value = value, .channels = program_.values[value].channels}; }

  int parameter(size_t elements) {
    program_.parameters.push_back(static_cast<int64_t>(elements));
    return static_cast<int>(program_.parameters.size()) - 1;
  }

  Read rectified(Read read) {
    read.relu = true;
    return read;
  }

  Read normalised(Read read) {
    Norm norm{.value = read.value};
    const int channels = program_.values[read.value].channels;
    if (below(2) == 0) norm.weight = parameter(channels), norm.bias = parameter(channels);
    read.norm = static_cast<int>(program_.norms.size());
    program_.norms.push_back(norm);
    return read;
  }

  Read added(Unit unit, int channels, int stride) {
    const ValueShape& from = program_.values[unit.input.value];
    unit.stride_h = unit.stride_w = stride;
    unit.output = program_.add_value({channels, (from.height - 1) / stride + 1, (from.width - 1) / stride + 1});
    const size_t in = unit.input.channels;
    if (!unit.depthwise.empty()) unit.depthwise_weight = parameter(in * unit.depthwise.size());
    if (!unit.dense.empty()) unit.dense_weight = parameter(in * channels * (unit.halves ? 1 : unit.dense.size()));
    const int output = unit.output;
    program_.add(std::move(unit));
    return whole(output);
  }

  Read pool(const Read& read, int stride) {
    const Unit::Kind kind = below(2) == 0 ? Unit::Kind::max_pool : Unit::Kind::avg_pool;
    return added({.kind = kind, .input = read, .window = {.stride_h = stride, .stride_w = stride}}, read.channels,
                 stride);
  }

  Read plain(const Read& read) {
    const int bias = parameter(1);
    return added({.kind = Unit::Kind::plain, .input = read, .plain = plain_++, .parameters = {bias}}, read.channels, 1);
  }

  Read separable(const Read& read, int side, int dilation, int stride) {
    const Unit unit{.input = rectified(read), .depthwise = square_taps(side, dilation), .dense = {{}}};
    return normalised(added(unit, read.channels, stride));
  }

  Read candidate(const Read& read, int stride) {
    const int c = read.channels;
    switch (below(7)) {
      case 0:
        return separable(separable(read, 3 + 2 * below(2), 1, stride), 3, 1, 1);
      case 1:
        return separable(read, 3, 2, stride);
      case 2:
        return normalised(added({.input = rectified(read), .dense = square_taps(3)}, c, stride));
      case 3:
        return rectified(normalised(added({.input = read, .depthwise = square_taps(3)}, c, stride)));
      case 4:
        return normalised(pool(read, stride));
      case 5:
        if (stride == 1) return read;
        return normalised(added({.input = rectified(read), .dense = {{0, 0}, {1, 1}}, .halves = true}, c, 2));
      default:
        return stride == 1 && options_.plain ? plain(read) : pool(read, stride);
    }
  }

  int preprocessed(int input) {
    const Unit unit{.input = rectified(whole(input)), .dense = {{}}};
    const Read read = normalised(added(unit, options_.channels, 1));
    const int state = program_.add_value(program_.values[read.value]);
    program_.add(Mix{.output = state, .terms = {{.read = read}}});
    return state;
  }

  int row() { return options_.discrete || below(5) == 0 ? -1 : rows_++; }

  int new_node() {
    Mix mix{.partial = options_.partial};
    for (int edge = 0; edge < 2; ++edge) {
      const int from = below(static_cast<int>(states_.size()));
      const int stride = options_.reduction && from < 2 ? 2 : 1;
      Read mixed = whole(states_[from]), rest = mixed;
      mixed.channels = rest.first = mixed.channels / options_.partial;
      rest.channels -= mixed.channels;
      for (int k = 0; k < (options_.discrete ? 1 : 2); ++k)
        mix.terms.push_back({.read = candidate(mixed, stride), .weight = row()});
      if (options_.partial > 1)
        mix.bypass.push_back({.read = stride == 1 ? rest : pool(rest, stride), .weight = row()});
    }
    ValueShape shape = program_.values[mix.terms[0].read.value];
    shape.channels = options_.channels;
    mix.output = program_.add_value(shape);
    const int output = mix.output;
    program_.add(std::move(mix));
    return output;
  }

  RandomCellOptions options_;
  RandomStream random_;
  CellProgram program_;
  std::vector<int> states_;
  int rows_ = 0, plain_ = 0;
};

int weight_rows(const CellProgram& program) {
  int rows = 0;
  for (const Mix& mix : program.mixes) {
    for (const auto* terms : {&mix.terms, &mix.bypass}) {
      for (const Term& term : *terms) rows = std::max(rows, term.weight + 1);
    }
  }
  return rows;
}

// Numbers of either kind, filled from floats or read as floats.
class NumberArray {
 public:
  NumberArray(size_t count, Precision precision)
      : bytes_(new std::byte[count * bytes_of(precision)]), count_(count), precision_(precision) {}
  NumberArray(const std::vector<float>& values, Precision precision) : NumberArray(values.size(), precision) {
    copy_numbers(values.data(), count_, at());
  }

  Numbers at() const { return {bytes_.get(), precision_}; }
  Precision precision() const { return precision_; }
  size_t size() const { return count_; }
  std::vector<float> floats() const {
    std::vector<float> values(count_);
    copy_numbers(at(), count_, values.data());
    return values;
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t count_;
  Precision precision_;
};

template <typename Function>
void for_each_float(const Batch& from, const Batch& to, const Function& function) {
  for (ptrdiff_t i = 0; i < ptrdiff_t{from.images} * from.height * from.width; ++i) {
    for (int k = 0; k < from.channels; ++k) {
      float x = 0, y = 0;
      copy_numbers(from.data + (i * from.pixel + k), 1, &x);
      function(x, to.data ? &y : nullptr);
      if (to.data) copy_numbers(&y, 1, to.data + (i * to.pixel + k));
    }
  }
}

PlainFunction plain_forward(float bias) {
  return [bias](const Batch& from, const Batch& to) {
    for_each_float(from, to, [&](float x, float* y) { *y = 2 * x + bias; });
  };
}

PlainFunction plain_backward(float* bias_gradient) {
  return [bias_gradient](const Batch& from, const Batch& to) {
    double sum = 0;
    for_each_float(from, to, [&](float g, float* input_gradient) {
      sum += g;
      if (input_gradient) *input_gradient = 2 * g;
    });
    *bias_gradient = static_cast<float>(sum);
  };
}

// The arrays of a pass. Each has exactly the size that the call documents.
class Pass {
 public:
  Pass(const CellProgram& program, const RandomPassOptions& options)
      : program_(program), options_(options), random_(options.seed, "random-pass") {}

  PassResult run() {
    const ForwardCall call = forward_call();
    const ValueShape& shape = program_.values[program_.outputs[0]];
    const NumberArray output(options_.images * shape.pixels() * program_.output_channels(), program_.precision);
    CellRun run(std::make_shared<CellProgram>(program_), call);
    run.forward(output.at());
    if (options_.keep) backward(run, output.size());
    result_.emplace_back("output", output.floats());
    for (size_t k = 0; options_.training && k < program_.norms.size(); ++k) {
      result_.emplace_back(fmt::format("running mean {}", k), means_[k]);
      result_.emplace_back(fmt::format("running variance {}", k), variances_[k]);
    }
    return std::move(result_);
  }

 private:
  std::vector<float> numbers(size_t count, double scale, double offset = 0) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(offset + scale * random_.normal());
    return values;
  }

  std::vector<float> numbers_of_images(size_t per_image) {
    const std::vector<float> all = numbers(std::max(options_.drawn, options_.images) * per_image, 1);
    const auto first = all.begin() + static_cast<ptrdiff_t>(options_.first_image * per_image);
    return {first, first + static_cast<ptrdiff_t>(options_.images * per_image)};
  }

  ForwardCall forward_call() {
    ForwardCall call{.images = options_.images,
                     .threads = options_.threads,
                     .training = options_.training,
                     .keep = options_.keep,
                     .inputs_only = options_.inputs_only};
    for (int v = 0; v < program_.inputs; ++v) {
      const bool as_floats = v == 0 && options_.seed % 2 == 0;
      inputs_.emplace_back(numbers_of_images(program_.values[v].pixels() * program_.values[v].channels),
                           as_floats ? Precision::single : program_.precision);
    }
    // Away from zero: with one input channel, a batch norm divides by its weight.
    for (const int64_t elements : program_.parameters) {
      parameters_.push_back(numbers(elements, 0.3));
      for (float& weight : parameters_.back()) weight += std::copysign(0.1f, weight);
    }
    for (const Norm& norm : program_.norms) {
      const int channels = program_.values[norm.value].channels;
      // A scale near zero would make pixels equal but for rounding, and a pool choose among them.
      if (norm.weight >= 0) parameters_[norm.weight] = numbers(channels, 0.1, 1);
      means_.push_back(numbers(channels, 0.1));
      variances_.emplace_back(channels, 0.8f);
    }
    const int rows = weight_rows(program_);
    weights_ = numbers(rows * (options_.weights_per_image ? options_.images : 1), 0.3, 0.5);
    for (const auto& input : inputs_) call.inputs.push_back(input.at());
    for (const auto& parameter : parameters_) call.parameters.push_back(parameter.data());
    for (size_t k = 0; k < means_.size(); ++k) call.running.push_back({means_[k].data(), variances_[k].data()});
    for (const Unit& unit : program_.units) {
      if (unit.kind == Unit::Kind::plain) call.plain.push_back(plain_forward(parameters_[unit.parameters[0]][0]));
    }
    call.weights = weights_.data();
    call.weight_rows = rows;
    call.weights_per_image = options_.weights_per_image;
    return call;
  }

  void backward(CellRun& run, size_t outputs) {
    const NumberArray outer(numbers_of_images(outputs / options_.images), program_.precision);
    std::vector<NumberArray> inputs;
    for (const NumberArray& input : inputs_) inputs.emplace_back(input.size(), input.precision());
    std::vector<std::vector<float>> parameters = parameters_;
    std::vector<float> weights(weights_.size(), 0.0f);
    SampleMoments samples;
    BackwardCall call{.output_gradient = outer.at()};
    if (options_.samples) call.samples = &samples;
    if (!options_.inputs_only) call.weights = weights.data();
    for (auto& input : inputs) call.inputs.push_back(input.at());
    for (auto& parameter : parameters) call.parameters.push_back(options_.inputs_only ? nullptr : parameter.data());
    for (const Unit& unit : program_.units) {
      if (unit.kind == Unit::Kind::plain) call.plain.push_back(plain_backward(parameters[unit.parameters[0]].data()));
    }
    run.backward(call);
    for (size_t i = 0; i < inputs.size(); ++i)
      result_.emplace_back(fmt::format("gradient of input {}", i), inputs[i].floats());
    if (options_.inputs_only) return;
    for (size_t i = 0; i < parameters.size(); ++i)
      result_.emplace_back(fmt::format("gradient of parameter {}", i), std::move(parameters[i]));
    result_.emplace_back("gradient of weights", std::move(weights));
    if (!options_.samples) return;
    result_.emplace_back("squares", std::vector<float>(samples.squares.begin(), samples.squares.end()));
    result_.emplace_back("deviations", std::vector<float>(samples.deviations.begin(), samples.deviations.end()));
  }

  const CellProgram& program_;
  RandomPassOptions options_;
  RandomStream random_;
  std::vector<NumberArray> inputs_;
  std::vector<std::vector<float>> parameters_, means_, variances_;
  std::vector<float> weights_;
  PassResult result_;
};

}  // namespace

CellProgram random_cell(const RandomCellOptions& options) { return Builder(options).build(); }

PassResult run_random_pass(const CellProgram& program, const RandomPassOptions& options) {
  return Pass(program, options).run();
}

}  // namespace nascent::kernels
