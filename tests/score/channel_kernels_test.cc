#include "nascent/score/channel_kernels.h"

#include <gtest/gtest.h>

#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::normal_tensor;

at::Tensor images(int64_t channels, uint64_t seed, at::ScalarType type = at::kFloat) {
  return normal_tensor({3, channels, 7, 5}, seed, type).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor tensor_of(const ChannelValues& values) { return at::tensor(values, at::kDouble); }

// Numbers of channels below, at and above the width of the loops, and no multiples of it.
class Channels : public testing::TestWithParam<int64_t> {};

TEST_P(Channels, MomentsAreThoseOfLibTorch) {
  const at::Tensor x = images(GetParam(), 1), y = images(GetParam(), 2), wide = x.to(at::kDouble);
  const auto [means, variances] = channel_moments(x);
  EXPECT_TRUE(at::allclose(tensor_of(means), wide.mean({0, 2, 3}), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(tensor_of(variances), wide.var({0, 2, 3}, false), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(tensor_of(channel_means(x, y)), (wide * y).mean({0, 2, 3}), 1e-5, 1e-6));
}

TEST_P(Channels, CombinationsAreThoseOfLibTorch) {
  const int64_t channels = GetParam();
  std::vector<ChannelTerm> terms;
  const auto factors = [&](uint64_t seed) {
    const at::Tensor values = normal_tensor({channels}, seed, at::kDouble);
    return ChannelValues(values.data_ptr<double>(), values.data_ptr<double>() + channels);
  };
  const ChannelValues constant = factors(50);
  at::Tensor expected = tensor_of(constant).view({1, -1, 1, 1});
  for (uint64_t k = 0; k < 4; ++k) {
    // Not stored channels-last, one of them.
    const at::Tensor x = k == 2 ? images(channels, k, at::kDouble).contiguous() : images(channels, k, at::kDouble);
    terms.push_back({x, factors(60 + k)});
    expected = expected + x * tensor_of(terms.back().factor).view({1, -1, 1, 1});
    EXPECT_TRUE(at::allclose(combine_channels(terms, constant), expected)) << k;
  }
}

TEST_P(Channels, AveragesAreThoseOfLibTorchAndSoAreTheirGradients) {
  for (const int side : {1, 3, 5, 9}) {
    const at::Tensor x = images(GetParam(), 3, at::kDouble).requires_grad_();
    const at::Tensor y = at::avg_pool2d(x, side, 1, side / 2, false, false), g = images(GetParam(), 4, at::kDouble);
    EXPECT_TRUE(at::allclose(average_windows(x.detach(), side), y)) << side;
    EXPECT_TRUE(at::allclose(average_windows(g, side, true), torch::autograd::grad({y}, {x}, {g})[0])) << side;
  }
}

INSTANTIATE_TEST_SUITE_P(, Channels, testing::Values(1, 3, 4, 16, 31, 32, 40));

}  // namespace
}  // namespace nascent
