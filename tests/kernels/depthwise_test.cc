// Depthwise kernels against sums in double, for all instruction sets and both kinds of numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/isa.h"
#include "nascent/kernels/packing.h"

namespace nascent::kernels {
namespace {

struct Shape {
  Grid grid;
  int channels, rows, pixels;

  std::string name() const {
    return fmt::format("{}x{} dilation {} stride {}x{}, {} channels, {}x{}", grid.height, grid.width, grid.dilation,
                       grid.stride_h, grid.stride_w, channels, rows, pixels);
  }
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const int side : {1, 3, 5, 7}) {
    for (const int dilation : {1, 2}) {
      for (const int stride : {1, 2}) {
        for (const auto& [channels, rows, pixels] : {std::tuple{4, 7, 9}, {8, 4, 16}, {36, 5, 6}, {64, 8, 8}})
          shapes.push_back({{side, side, dilation, stride, stride}, channels, rows, pixels});
      }
    }
  }
  // What no operation has, and images that do not fit into the near memory of the kernels.
  shapes.push_back({{2, 4, 1, 1, 1}, 12, 6, 7});
  shapes.push_back({{4, 2, 3, 2, 1}, 20, 5, 11});
  shapes.push_back({{6, 3, 2, 3, 2}, 4, 9, 5});
  shapes.push_back({{1, 7, 1, 1, 1}, 16, 3, 17});
  shapes.push_back({{3, 3, 1, 1, 1}, 16, 5, 700});
  shapes.push_back({{5, 5, 2, 2, 2}, 8, 5, 300});
  shapes.push_back({{21, 21, 2, 1, 1}, 16, 5, 40});
  return shapes;
}

// An image, what is made of it or the gradient of that, and weights; numbers are bf16, which floats hold as well.
class Problem {
 public:
  Problem(const Shape& shape, uint64_t seed) : shape_(shape), random_(seed, "depthwise") {
    const Grid& grid = shape.grid;
    width_ = (shape.pixels - 1) * grid.stride_w + (grid.width - 1) * grid.dilation + 1;
    height_ = (shape.rows - 1) * grid.stride_h + (grid.height - 1) * grid.dilation + 1;
    input = numbers(static_cast<size_t>(height_) * width_);
    gradient = numbers(static_cast<size_t>(shape.rows) * shape.pixels);
    weights = numbers(static_cast<size_t>(grid.height) * grid.width);
    unit.input.channels = shape.channels;
    unit.depthwise_weight = 0;
    unit.stride_h = grid.stride_h;
    unit.stride_w = grid.stride_w;
    for (int y = 0; y < grid.height; ++y) {
      for (int x = 0; x < grid.width; ++x) {
        unit.depthwise.push_back({y * grid.dilation, x * grid.dilation});
        offsets.push_back((static_cast<ptrdiff_t>(y) * width_ + x) * grid.dilation * shape.channels);
      }
    }
  }

  ptrdiff_t row() const { return static_cast<ptrdiff_t>(width_) * shape_.channels; }
  ptrdiff_t out_row() const { return static_cast<ptrdiff_t>(shape_.pixels) * shape_.channels; }
  ptrdiff_t step() const { return static_cast<ptrdiff_t>(shape_.grid.stride_w) * shape_.channels; }
  Taps taps() const { return {offsets.data(), static_cast<int>(offsets.size())}; }

  // Calls body(place in the image, place in the output, place among the weights) for all products.
  template <class Body>
  void for_products(Body body) const {
    for (int y = 0; y < shape_.rows; ++y) {
      for (int x = 0; x < shape_.pixels; ++x) {
        for (size_t t = 0; t < offsets.size(); ++t) {
          for (int c = 0; c < shape_.channels; ++c)
            body(y * shape_.grid.stride_h * row() + x * step() + offsets[t] + c,
                 y * out_row() + x * shape_.channels + c, t * shape_.channels + c);
        }
      }
    }
  }

  // As a run packs them.
  std::vector<float> packed(Precision precision) const {
    CellProgram program;
    program.precision = precision;
    program.add_value({shape_.channels, height_, width_});
    program.inputs = 1;
    Unit own = unit;
    own.input.value = 0;
    own.output = program.add_value({shape_.channels, shape_.rows, shape_.pixels});
    program.add(own);
    const Packing packing(program, /*backward=*/false);
    std::vector<float> block(packing.floats());
    const size_t taps = offsets.size();
    std::vector<float> by_channel(weights.size());
    for (int c = 0; c < shape_.channels; ++c) {
      for (size_t t = 0; t < taps; ++t) by_channel[c * taps + t] = weights[t * shape_.channels + c];
    }
    packing.pack(0, {by_channel.data()}, nullptr, block.data());
    return block;
  }

  Unit unit;
  std::vector<float> input, gradient, weights;
  std::vector<ptrdiff_t> offsets;

 private:
  std::vector<float> numbers(size_t pixels) {
    std::vector<float> all(pixels * shape_.channels);
    for (float& number : all) number = widened(rounded(static_cast<float>(random_.normal())));
    return all;
  }

  Shape shape_;
  RandomStream random_;
  int width_ = 0, height_ = 0;
};

// An array of either kind, with as much behind it as kernels may read.
class Array {
 public:
  Array(const std::vector<float>& numbers, Precision precision) : Array(numbers.size(), precision) {
    copy_numbers(numbers.data(), numbers.size(), at());
  }
  Array(size_t numbers, Precision precision)
      : size_(numbers), precision_(precision), memory_(floats_for(numbers, precision) + 64) {}

  Numbers at() { return {memory_.data(), precision_}; }
  std::vector<float> floats() {
    std::vector<float> all(size_);
    copy_numbers(at(), size_, all.data());
    return all;
  }

 private:
  size_t size_;
  Precision precision_;
  std::vector<float> memory_;
};

void expect_near(const std::vector<float>& mine, const std::vector<double>& truth, double limit) {
  double largest = 0, apart = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    largest = std::max(largest, std::abs(truth[i]));
    apart = std::max(apart, std::abs(truth[i] - static_cast<double>(mine[i])));
  }
  EXPECT_LT(apart, limit * largest);
}

// Of sums of floats; and of what is rounded to bf16: half of the distance from 1 to the next.
constexpr double kOfFloats = 1e-5, kOfBf16 = 1.0 / 256;

class DepthwiseTest : public testing::TestWithParam<Precision> {
 protected:
  ~DepthwiseTest() override { use_isa(before_); }

  // Calls body(shape, problem) for every shape with every instruction set.
  template <class Body>
  void for_all(Body body) {
    uint64_t seed = 0;
    for (const Shape& shape : shapes()) {
      const Problem problem(shape, seed++);
      for (const std::string& isa : supported_isas()) {
        SCOPED_TRACE(fmt::format("{}, {}", shape.name(), isa));
        use_isa(isa);
        body(shape, problem);
      }
    }
  }

 private:
  std::string before_ = isa();
};

TEST_P(DepthwiseTest, MakesSums) {
  for_all([&](const Shape& shape, const Problem& problem) {
    std::vector<double> truth(problem.gradient.size());
    problem.for_products([&](ptrdiff_t in, ptrdiff_t out, ptrdiff_t weight) {
      truth[out] += double{problem.input[in]} * problem.weights[weight];
    });
    Array in(problem.input, GetParam());
    const std::vector<float> weights = problem.packed(GetParam());
    for (const Precision precision : {Precision::single, GetParam()}) {
      Array out(truth.size(), precision);
      image_kernels().depthwise({.in = {in.at(), shape.grid.stride_h * problem.row()},
                                 .taps = problem.taps(),
                                 .grid = grid_of(problem.unit),
                                 .step = problem.step(),
                                 .weights = {weights.data(), GetParam()},
                                 .rows = shape.rows,
                                 .pixels = shape.pixels,
                                 .c = shape.channels,
                                 .out = {out.at(), problem.out_row()}});
      expect_near(out.floats(), truth, precision == Precision::single ? kOfFloats : kOfBf16);
    }
  });
}

// With the kernel turned around, and added to what is there: the gradient of the input of a convolution without stride.
TEST_P(DepthwiseTest, MakesSumsWithTheKernelTurnedAround) {
  for_all([&](const Shape& shape, const Problem& problem) {
    if (shape.grid.stride_h != 1 || shape.grid.stride_w != 1) return;
    const ptrdiff_t count = static_cast<ptrdiff_t>(problem.offsets.size());
    std::vector<double> truth(problem.gradient.begin(), problem.gradient.end());
    problem.for_products([&](ptrdiff_t in, ptrdiff_t out, ptrdiff_t weight) {
      const ptrdiff_t tap = weight / shape.channels, channel = weight % shape.channels;
      truth[out] += double{problem.input[in]} * problem.weights[(count - 1 - tap) * shape.channels + channel];
    });
    std::vector<ptrdiff_t> turned(problem.offsets.rbegin(), problem.offsets.rend());
    Array in(problem.input, GetParam()), out(problem.gradient, Precision::single);
    const std::vector<float> weights = problem.packed(GetParam());
    image_kernels().depthwise({.in = {in.at(), problem.row()},
                               .taps = {turned.data(), static_cast<int>(count)},
                               .grid = grid_of(problem.unit),
                               .step = problem.step(),
                               .weights = {weights.data(), GetParam()},
                               .rows = shape.rows,
                               .pixels = shape.pixels,
                               .c = shape.channels,
                               .add = true,
                               .out = {out.at(), problem.out_row()}});
    expect_near(out.floats(), truth, kOfFloats);
  });
}

TEST_P(DepthwiseTest, AddsUpGradientsOfWeights) {
  for_all([&](const Shape& shape, const Problem& problem) {
    std::vector<double> truth(problem.weights.begin(), problem.weights.end());
    problem.for_products([&](ptrdiff_t in, ptrdiff_t out, ptrdiff_t weight) {
      truth[weight] += double{problem.input[in]} * problem.gradient[out];
    });
    Array in(problem.input, GetParam()), gradient(problem.gradient, GetParam());
    std::vector<float> sums = problem.weights;
    image_kernels().depthwise_weights({.pairs = {.in = {in.at(), shape.grid.stride_h * problem.row()},
                                                 .gradient = {gradient.at(), problem.out_row()},
                                                 .rows = shape.rows,
                                                 .pixels = shape.pixels},
                                       .taps = problem.taps(),
                                       .grid = grid_of(problem.unit),
                                       .step = problem.step(),
                                       .c = shape.channels,
                                       .gradients = sums.data()});
    expect_near(sums, truth, kOfFloats);
  });
}

TEST_P(DepthwiseTest, ScattersGradients) {
  for_all([&](const Shape& shape, const Problem& problem) {
    std::vector<double> truth(problem.input.size());
    problem.for_products([&](ptrdiff_t in, ptrdiff_t out, ptrdiff_t weight) {
      truth[in] += double{problem.gradient[out]} * problem.weights[weight];
    });
    Array gradient(problem.gradient, GetParam()), in(truth.size(), Precision::single);
    const std::vector<float> weights = problem.packed(GetParam());
    for (int y = 0; y < shape.rows; ++y)
      image_kernels().depthwise_scatter({.out_gradient = gradient.at() + y * problem.out_row(),
                                         .taps = problem.taps(),
                                         .grid = grid_of(problem.unit),
                                         .step = problem.step(),
                                         .weights = {weights.data(), GetParam()},
                                         .pixels = shape.pixels,
                                         .c = shape.channels,
                                         .in_gradient = in.at().as<float>() + y * shape.grid.stride_h * problem.row()});
    expect_near(in.floats(), truth, kOfFloats);
  });
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseTest, testing::Values(Precision::single, Precision::bf16),
                         [](const auto& test) { return test.param == Precision::single ? "InFloat" : "InBf16"; });

}  // namespace
}  // namespace nascent::kernels
