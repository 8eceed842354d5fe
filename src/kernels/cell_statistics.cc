// How the norms of a pass act: from the statistics of the batch, or from those that a network keeps.
#include <algorithm>
#include <cmath>

#include "nascent/kernels/cell_run.h"
#include "nascent/kernels/parallel.h"

namespace nascent::kernels {

// Phase -1: the norms follow from the running statistics.
void CellRun::finish_statistics(int phase) {
  for_each(static_cast<int>(norms_.size()), call_.threads, [&](int k, int) {
    if (phase < 0) {
      take_running_statistics(k);
    } else if (schedule_.phase[program_->norms[k].value] == phase) {
      take_batch_statistics(k);
    }
  });
}

void CellRun::take_running_statistics(int k) {
  const int value = program_->norms[k].value, count = program_->values[value].channels;
  std::vector<float> mean(channels(value), 0.0f);
  std::copy_n(call_.running[k].mean, count, mean.begin());
  std::vector<double> variance(channels(value), 0.0);
  std::copy_n(call_.running[k].variance, count, variance.begin());
  set_norm(k, std::move(mean), variance);
}

void CellRun::take_batch_statistics(int k) {
  const int value = program_->norms[k].value, c = channels(value);
  const ValueShape& shape = program_->values[value];
  const RunningStatistics& running = call_.running[k];
  std::vector<float> mean(c, 0.0f);
  std::vector<double> variance(c, 0.0);
  const auto per_image = static_cast<double>(shape.pixels());
  const double count = per_image * call_.images;
  // The moments of images are merged one by one (Chan et al.).
  std::vector<double> centre(c, 0.0), spread(c, 0.0);
  for (int n = 0; n < call_.images; ++n) {
    const float* moments = moments_.data() + moments_offset_[value] + size_t{3} * c * n;
    const double total = per_image * n, share = 1.0 / (n + 1);
    for (int i = 0; i < c; ++i) {
      const double sum = moments[c + i], image_mean = moments[i] + sum / per_image;
      const double image_spread = std::max(moments[2 * c + i] - sum * sum / per_image, 0.0);
      const double delta = image_mean - centre[i];
      centre[i] += delta * share;
      spread[i] += image_spread + delta * delta * total * share;
    }
  }
  for (int i = 0; i < shape.channels; ++i) {
    mean[i] = static_cast<float>(centre[i]);
    variance[i] = spread[i] / count;
    if (running.mean) running.mean[i] += call_.momentum * (mean[i] - running.mean[i]);
    if (running.variance) {
      const double unbiased = spread[i] / std::max(count - 1, 1.0);
      running.variance[i] += call_.momentum * (static_cast<float>(unbiased) - running.variance[i]);
    }
  }
  set_norm(k, std::move(mean), variance);
}

void CellRun::set_norm(int k, std::vector<float> mean, const std::vector<double>& variance) {
  const Norm& norm = program_->norms[k];
  const int channels = program_->values[norm.value].channels;
  NormCoefficients& to = norms_[k];
  const size_t c = mean.size();
  to.mean = std::move(mean);
  for (auto* vector : {&to.inverse, &to.scale, &to.shift, &to.offset}) vector->assign(c, 0.0f);
  for (int i = 0; i < channels; ++i) {
    const double inverse = 1 / std::sqrt(variance[i] + call_.epsilon);
    const float gamma = norm.weight >= 0 ? call_.parameters[norm.weight][i] : 1;
    to.offset[i] = norm.bias >= 0 ? call_.parameters[norm.bias][i] : 0;
    to.inverse[i] = static_cast<float>(inverse);
    to.scale[i] = static_cast<float>(gamma * inverse);
    to.shift[i] = static_cast<float>(to.offset[i] - gamma * inverse * to.mean[i]);
  }
}

}  // namespace nascent::kernels
