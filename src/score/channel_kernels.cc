#include "nascent/score/channel_kernels.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <array>
#include <cassert>

namespace nascent {

namespace {

// Rows of few channels are taken several at a time, so that the inner loops are long enough for vector instructions.
constexpr int64_t kLanes = 32;

struct Rows {
  int64_t channels, lanes, blocks, rest;  // blocks of `lanes` numbers, then `rest` numbers

  explicit Rows(const at::Tensor& x) : channels(x.size(1)) {
    lanes = channels * std::max<int64_t>(1, kLanes / channels);
    blocks = x.numel() / lanes;
    rest = x.numel() % lanes;
  }
};

// Single precision holds only so many additions; sums go over to double after this many blocks.
constexpr int64_t kBlocksPerSum = 64;

// Sums term(i) over all numbers i, by channel.
template <class T, class Term>
ChannelValues sum_by_channel(const Rows& rows, Term term) {
  std::vector<T> part(rows.lanes);
  std::vector<double> total(rows.lanes, 0.0);
  for (int64_t first = 0; first < rows.blocks; first += kBlocksPerSum) {
    std::fill(part.begin(), part.end(), T(0));
    T* sum = part.data();
    const int64_t last = std::min(rows.blocks, first + kBlocksPerSum);
    for (int64_t block = first; block < last; ++block) {
      const int64_t start = block * rows.lanes;
#pragma GCC ivdep
      for (int64_t j = 0; j < rows.lanes; ++j) sum[j] += term(start + j, j);
    }
    for (int64_t j = 0; j < rows.lanes; ++j) total[j] += sum[j];
  }
  for (int64_t j = 0; j < rows.rest; ++j) total[j] += term(rows.blocks * rows.lanes + j, j);
  ChannelValues result(rows.channels, 0.0);
  for (int64_t j = 0; j < rows.lanes; ++j) result[j % rows.channels] += total[j];
  return result;
}

ChannelValues divided(ChannelValues values, int64_t count) {
  for (double& value : values) value /= static_cast<double>(count);
  return values;
}

template <class T>
std::vector<T> repeated(const ChannelValues& values, int64_t lanes) {
  std::vector<T> result(lanes);
  for (int64_t j = 0; j < lanes; ++j) result[j] = static_cast<T>(values[j % values.size()]);
  return result;
}

template <class T, size_t Count>
void combine(const std::vector<ChannelTerm>& terms, const ChannelValues& constant, T* out, const Rows& rows) {
  std::array<const T*, Count> x;
  std::array<std::vector<T>, Count> factors;
  std::array<const T*, Count> factor;
  for (size_t k = 0; k < Count; ++k) {
    x[k] = terms[k].x.template data_ptr<T>();
    factors[k] = repeated<T>(terms[k].factor, rows.lanes);
    factor[k] = factors[k].data();
  }
  const std::vector<T> constants = repeated<T>(constant, rows.lanes);
  const auto value = [&](int64_t i, int64_t j) {
    T sum = constants[j];
    for (size_t k = 0; k < Count; ++k) sum += factor[k][j] * x[k][i];
    return sum;
  };
  for (int64_t block = 0; block < rows.blocks; ++block) {
    const int64_t start = block * rows.lanes;
#pragma GCC ivdep
    for (int64_t j = 0; j < rows.lanes; ++j) out[start + j] = value(start + j, j);
  }
  for (int64_t j = 0; j < rows.rest; ++j) out[rows.blocks * rows.lanes + j] = value(rows.blocks * rows.lanes + j, j);
}

template <class T>
void combine(const std::vector<ChannelTerm>& terms, const ChannelValues& constant, at::Tensor& out) {
  const Rows rows(out);
  T* values = out.data_ptr<T>();
  switch (terms.size()) {
    case 1:
      return combine<T, 1>(terms, constant, values, rows);
    case 2:
      return combine<T, 2>(terms, constant, values, rows);
    case 3:
      return combine<T, 3>(terms, constant, values, rows);
    default:
      assert(terms.size() == 4);
      return combine<T, 4>(terms, constant, values, rows);
  }
}

// 1 / (number of positions of a window of `side` around each of `size` positions that lie inside).
template <class T>
std::vector<T> window_rates(int64_t size, int64_t side, int64_t repeats) {
  std::vector<T> rates;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t count = std::min(size - 1, i + side / 2) - std::max<int64_t>(0, i - side / 2) + 1;
    rates.insert(rates.end(), repeats, T(1) / static_cast<T>(count));
  }
  return rates;
}

// out[i] = sum of the `side` numbers around in[i] that are `step` apart, where the line of `size` has them.
template <class T>
void sum_along(const T* in, T* out, int64_t size, int64_t step, int64_t side) {
  std::copy_n(in, size, out);
  for (int64_t offset = step; offset <= side / 2 * step && offset < size; offset += step) {
#pragma GCC ivdep
    for (int64_t i = offset; i < size; ++i) out[i] += in[i - offset];
#pragma GCC ivdep
    for (int64_t i = 0; i < size - offset; ++i) out[i] += in[i + offset];
  }
}

template <class T>
void scale(T* values, const T* factors, T factor, int64_t size) {
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) values[i] *= factors[i] * factor;
}

// Sums along rows, then along columns; every pixel is divided by the size of its window, before the sums where
// transposed and after them otherwise.
template <class T>
void average_windows(const at::Tensor& x, at::Tensor& y, int64_t side, bool transposed) {
  const int64_t height = x.size(2), row = x.size(3) * x.size(1), image = height * row;
  const std::vector<T> across = window_rates<T>(x.size(3), side, x.size(1)), down = window_rates<T>(height, side, 1);
  std::vector<T> scaled(row), sums(image);
  for (int64_t i = 0; i < x.size(0); ++i) {
    const T* in = x.data_ptr<T>() + i * image;
    T* out = y.data_ptr<T>() + i * image;
    for (int64_t h = 0; h < height; ++h) {
      std::copy_n(in + h * row, row, scaled.data());
      if (transposed) scale(scaled.data(), across.data(), down[h], row);
      sum_along(scaled.data(), sums.data() + h * row, row, x.size(1), side);
    }
    sum_along(sums.data(), out, image, row, side);
    for (int64_t h = 0; !transposed && h < height; ++h) scale(out + h * row, across.data(), down[h], row);
  }
}

int64_t per_channel(const at::Tensor& x) { return x.numel() / x.size(1); }

}  // namespace

at::Tensor average_windows(const at::Tensor& x, int side, bool transposed) {
  const at::Tensor in = channels_last(x);
  at::Tensor out = at::empty(x.sizes(), x.options().memory_format(at::MemoryFormat::ChannelsLast));
  AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "average_windows",
                             [&] { average_windows<scalar_t>(in, out, side, transposed); });
  return out;
}

at::Tensor channels_last(const at::Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

ChannelValues channel_means(const at::Tensor& x) {
  const at::Tensor values = channels_last(x);
  return AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "channel_means", [&] {
    const scalar_t* p = values.data_ptr<scalar_t>();
    return divided(sum_by_channel<scalar_t>(Rows(values), [p](int64_t i, int64_t) { return p[i]; }), per_channel(x));
  });
}

ChannelValues channel_means(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor a = channels_last(x), b = channels_last(y);
  return AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "channel_means", [&] {
    const scalar_t *p = a.data_ptr<scalar_t>(), *q = b.data_ptr<scalar_t>();
    return divided(sum_by_channel<scalar_t>(Rows(a), [p, q](int64_t i, int64_t) { return p[i] * q[i]; }),
                   per_channel(x));
  });
}

std::pair<ChannelValues, ChannelValues> channel_moments(const at::Tensor& x) {
  const at::Tensor values = channels_last(x);
  const ChannelValues means = channel_means(values);
  ChannelValues variances = AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "channel_moments", [&] {
    const scalar_t* p = values.data_ptr<scalar_t>();
    const Rows rows(values);
    const std::vector<scalar_t> centre = repeated<scalar_t>(means, rows.lanes);
    const scalar_t* mean = centre.data();
    return sum_by_channel<scalar_t>(rows, [p, mean](int64_t i, int64_t j) {
      const scalar_t difference = p[i] - mean[j];
      return difference * difference;
    });
  });
  return {means, divided(std::move(variances), per_channel(x))};
}

at::Tensor combine_channels(const std::vector<ChannelTerm>& terms, const ChannelValues& constant) {
  std::vector<ChannelTerm> stored;
  for (const ChannelTerm& term : terms) stored.push_back({channels_last(term.x), term.factor});
  at::Tensor out = at::empty(terms[0].x.sizes(), terms[0].x.options().memory_format(at::MemoryFormat::ChannelsLast));
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "combine_channels", [&] { combine<scalar_t>(stored, constant, out); });
  return out;
}

}  // namespace nascent
