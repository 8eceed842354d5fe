// Passes through random cells. This file is also built with AddressSanitizer and UBSan, see tests/CMakeLists.txt.
#include "nascent/kernels/cell_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/random_cell.h"
#include "nascent/kernels/isa.h"
#include "nascent/kernels/memory.h"

namespace nascent::kernels {
namespace {

struct Sample {
  std::string name;
  CellProgram program;
  RandomPassOptions pass;
};

// Channels that do and do not fill vectors, odd and rectangular images, one image, and every kind of pass.
std::vector<Sample> samples(Precision precision = Precision::single) {
  std::vector<Sample> samples;
  uint64_t seed = 0;
  for (const int channels : {1, 3, 7, 16, 36, 48}) {
    for (const auto& [height, width] : {std::pair{5, 4}, {9, 6}, {8, 13}}) {
      for (const bool reduction : {false, true}) {
        const int partial = seed % 3 == 0 && channels % 4 == 0 ? 4 : seed % 3 == 0 && channels % 3 == 0 ? 3 : 1;
        RandomPassOptions pass{.seed = seed, .images = seed % 4 == 0 ? 1 : 3, .threads = seed % 5 == 0 ? 2 : 1};
        pass.training = seed % 7 != 1;
        pass.keep = seed % 6 != 2;
        pass.weights_per_image = seed % 3 == 1;
        pass.inputs_only = !pass.training && seed % 2 == 0;
        std::string name = fmt::format("sample {}: {} channels, {}x{}, {}, K={}", seed, channels, height, width,
                                       reduction ? "reduction" : "normal", partial);
        CellProgram program = random_cell({seed, channels, height, width, reduction, partial, true, precision});
        samples.push_back({std::move(name), std::move(program), pass});
        ++seed;
      }
    }
  }
  return samples;
}

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

double distance(std::vector<float> a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return norm_of(a);
}

class CellRunTest : public testing::Test {
 protected:
  ~CellRunTest() override { use_isa(before_); }

 private:
  std::string before_ = isa();
};

// Gradients are measured by the largest of them: those behind batch norms are differences of larger numbers, and some
// are zero but for rounding.
struct Limits {
  double of_values, of_gradients;
};

void expect_close(const PassResult& mine, const PassResult& truth, const Limits& limits) {
  double largest = 0;
  for (const auto& [name, values] : truth) {
    if (name.starts_with("gradient")) largest = std::max(largest, norm_of(values));
  }
  ASSERT_EQ(mine.size(), truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    const auto& [name, values] = truth[i];
    const bool gradient = name.starts_with("gradient");
    const double size = gradient ? largest : std::max(norm_of(values), 0.1);
    EXPECT_LT(distance(mine[i].second, values), (gradient ? limits.of_gradients : limits.of_values) * size) << name;
  }
}

TEST_F(CellRunTest, VectorsGiveWhatScalarsGive) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    use_isa("scalar");
    const PassResult truth = run_random_pass(sample.program, sample.pass);
    for (const std::string& isa : supported_isas()) {
      SCOPED_TRACE(isa);
      use_isa(isa);
      expect_close(run_random_pass(sample.program, sample.pass), truth, {1e-5, 1e-5});
    }
  }
}

// A little more than what rounding changes a number by in the mean square; at most it is twice as much.
constexpr double kRounding = 1.0 / 512;

// In norm, roundings in a row give less than so many times that. A number of an output has been rounded at most
// fourteen times: in each of two separable convolutions in a row (input, two weights, what is between depthwise and
// pointwise, result), and in the preprocessing and the states before and behind them. Where rounding moves a number
// across zero, or past another one in the window of a max pool, the gradient takes another way. This happens to a share
// of about kRounding of the numbers in front of each ReLU or pool, so to gradients it does what its root says.
constexpr int kRoundings = 12;
const Limits kLimitsOfBf16 = {kRoundings * kRounding, 4 * std::sqrt(kRounding)};

TEST_F(CellRunTest, Bf16GivesWhatFloatGivesButForRounding) {
  std::vector<Sample> in_float = samples(), in_bf16 = samples(Precision::bf16);
  for (size_t i = 0; i < in_float.size(); ++i) {
    SCOPED_TRACE(in_float[i].name);
    // Of few numbers, a share may be none or many.
    constexpr int kImages = 8;
    in_float[i].pass.images = in_bf16[i].pass.images = kImages;
    use_isa("scalar");
    const PassResult truth = run_random_pass(in_float[i].program, in_float[i].pass);
    for (const std::string& isa : supported_isas()) {
      SCOPED_TRACE(isa);
      use_isa(isa);
      expect_close(run_random_pass(in_bf16[i].program, in_bf16[i].pass), truth, kLimitsOfBf16);
    }
  }
}

// Sums of floats in another order round to another bf16 here and there.
TEST_F(CellRunTest, VectorsGiveWhatScalarsGiveInBf16) {
  for (const Sample& sample : samples(Precision::bf16)) {
    SCOPED_TRACE(sample.name);
    use_isa("scalar");
    const PassResult truth = run_random_pass(sample.program, sample.pass);
    for (const std::string& isa : supported_isas()) {
      SCOPED_TRACE(isa);
      use_isa(isa);
      expect_close(run_random_pass(sample.program, sample.pass), truth, {kRounding, 4 * kRounding});
    }
  }
}

// Leaves nothing but NaN in the memory that is handed out next.
void spoil_free_memory() {
  constexpr size_t kFloats = size_t{16} << 20;
  const Block block(kFloats);
  std::fill_n(block.data(), kFloats, std::numeric_limits<float>::quiet_NaN());
}

TEST_F(CellRunTest, ResultsDoNotDependOnWhatMemoryHeld) {
  for (const Precision precision : {Precision::single, Precision::bf16}) {
    for (const Sample& sample : samples(precision)) {
      SCOPED_TRACE(sample.name);
      spoil_free_memory();
      const PassResult first = run_random_pass(sample.program, sample.pass);
      for (const auto& [name, values] : first) EXPECT_TRUE(std::isfinite(norm_of(values))) << name;
      EXPECT_EQ(run_random_pass(sample.program, sample.pass), first);  // in the memory of the first
    }
  }
}

const std::vector<float>& result_named(const PassResult& result, const std::string& name) {
  for (const auto& [own, values] : result) {
    if (own == name) return values;
  }
  throw std::logic_error("no result is named " + name);
}

// What is kept, and how norms are applied, depends on whether gradients of parameters are wanted; the gradients of
// inputs do not.
TEST_F(CellRunTest, GradientsOfInputsAloneAreThoseOfAPassThatGivesAll) {
  for (Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    sample.pass.keep = true;
    sample.pass.training = false;
    for (const int threads : {1, 2}) {
      sample.pass.threads = threads;
      sample.pass.inputs_only = false;
      const PassResult all = run_random_pass(sample.program, sample.pass);
      sample.pass.inputs_only = true;
      for (const auto& [name, values] : run_random_pass(sample.program, sample.pass)) {
        const std::vector<float>& expected = result_named(all, name);
        EXPECT_LT(distance(values, expected), 1e-5 * std::max(norm_of(expected), 0.1)) << name;
      }
    }
  }
}

// Squared norms and deviations, from passes of one image each.
TEST_F(CellRunTest, MomentsOfSingleImagesAreThoseOfPassesOfOneImage) {
  constexpr int kImages = 5;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const int channels = seed % 4 == 0 ? 8 : seed % 4 == 1 ? 3 : seed % 4 == 2 ? 16 : 6;
    const CellProgram program = random_cell({.seed = seed,
                                             .channels = channels,
                                             .height = 8,
                                             .width = seed % 2 == 0 ? 8 : 5,
                                             .reduction = seed % 3 == 0,
                                             .plain = false});
    RandomPassOptions pass{.seed = seed, .images = 1, .training = false, .drawn = kImages};
    std::vector<PassResult> single;
    for (pass.first_image = 0; pass.first_image < kImages; ++pass.first_image)
      single.push_back(run_random_pass(program, pass));
    pass.images = kImages;
    pass.first_image = 0;
    pass.samples = true;
    pass.threads = seed % 2 == 0 ? 1 : 2;
    const PassResult together = run_random_pass(program, pass);
    const std::vector<float>&squares = result_named(together, "squares"),
          &deviations = result_named(together, "deviations");
    for (size_t p = 0; p < program.parameters.size(); ++p) {
      const std::string name = fmt::format("gradient of parameter {}", p);
      const std::vector<float>& sum = result_named(together, name);
      double expected = 0, mean_square = 0;
      for (int n = 0; n < kImages; ++n) {
        std::vector<float> own = result_named(single[n], name);
        const double square = norm_of(own) * norm_of(own);
        EXPECT_NEAR(squares[p * kImages + n], square, 1e-4 * square + 1e-6) << name << " of image " << n;
        mean_square += square / kImages;
        for (size_t i = 0; i < own.size(); ++i) own[i] -= sum[i] / kImages;
        expected += norm_of(own) * norm_of(own);
      }
      EXPECT_NEAR(deviations[p], expected, 1e-4 * (expected + mean_square) + 1e-6) << name;
    }
  }
}

// More threads than images, and many more than cores.
TEST_F(CellRunTest, OneNumberOfThreadsGivesTheSameBytes) {
  for (const Precision precision : {Precision::single, Precision::bf16}) {
    const CellProgram program =
        random_cell({.seed = 3, .channels = 7, .height = 9, .width = 8, .reduction = true, .precision = precision});
    for (const int threads : {1, 2, 3, 5, 16, 64}) {
      for (const int images : {7, 70}) {
        const RandomPassOptions pass{.images = images, .threads = threads};
        const PassResult first = run_random_pass(program, pass);
        for (int again = 0; again < 3; ++again)
          EXPECT_EQ(run_random_pass(program, pass), first) << threads << " threads, " << images << " images";
      }
    }
  }
}

// Cells of found networks, of which inference adds what units make to states at once.
std::vector<Sample> discrete_samples(Precision precision) {
  std::vector<Sample> samples;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CellProgram program = random_cell({.seed = seed,
                                       .channels = seed % 2 == 0 ? 16 : 7,
                                       .height = 8,
                                       .width = 6,
                                       .reduction = seed % 3 == 0,
                                       .plain = false,
                                       .precision = precision,
                                       .discrete = true});
    samples.push_back({fmt::format("discrete sample {} in {}", seed, precision == Precision::bf16 ? "bf16" : "float"),
                       std::move(program),
                       {.seed = seed, .training = false, .keep = seed % 4 == 3, .inputs_only = true}});
  }
  return samples;
}

// Only weight gradients depend on their number: those of groups of images are added up.
TEST_F(CellRunTest, ManyThreadsGiveWhatOneGives) {
  std::vector<Sample> all = samples();
  for (const Precision precision : {Precision::single, Precision::bf16}) {
    for (Sample& sample : discrete_samples(precision)) all.push_back(std::move(sample));
  }
  for (Sample& sample : all) {
    SCOPED_TRACE(sample.name);
    sample.pass.images = 9;
    sample.pass.threads = 1;
    const PassResult truth = run_random_pass(sample.program, sample.pass);
    for (const int threads : {3, 5, 16, 64}) {
      SCOPED_TRACE(threads);
      sample.pass.threads = threads;
      const PassResult mine = run_random_pass(sample.program, sample.pass);
      expect_close(mine, truth, {1e-6, 1e-6});
      for (size_t i = 0; i < truth.size(); ++i) {
        const auto& [name, values] = truth[i];
        if (name.starts_with("gradient of parameter")) continue;
        EXPECT_EQ(mine[i].second, values) << name;
      }
    }
  }
}

}  // namespace
}  // namespace nascent::kernels
