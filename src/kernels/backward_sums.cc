// Sums over the batch that the backward pass needs: the gradients of mixture weights and batch norms, and what those
// add to the gradients of the values before them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "nascent/kernels/cell_backward.h"
#include "nascent/kernels/parallel.h"
#include "nascent/kernels/scratch.h"

namespace nascent::kernels {

Read CellBackward::between_read(int value) const {
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) return program_.units[reader.index].input;
  }
  return {.value = value, .channels = program_.values[value].channels};
}

void CellBackward::sum_mix(int index, int n, int thread) {
  const Mix& mix = program_.mixes[index];
  const size_t pixels = program_.values[mix.output].pixels();
  for (const bool bypass : {false, true}) {
    const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
    if (terms.empty()) continue;
    const int c = plane_channels(index, bypass);
    run_.fill_terms(terms, c, n, thread);
    float* sums = sums_.data() + (bypass ? bypass_sums_ : main_sums_)[index] + (2 * terms.size() + 1) * c * n;
    kernels_.mix_sums(plane(index, bypass, slot(n, thread)), run_.scratch_[thread]->terms, pixels, c, sums);
  }
}

// Where the sums go that a norm between two units needs of its gradient; null where there is none.
float* CellBackward::sums_between(int value, int n) {
  if (!wants_sums_ || !between_[value] || between_read(value).norm < 0) return nullptr;
  return sums_.data() + between_sums_[value] + size_t{2} * run_.channels(value) * n;
}

void CellBackward::finish_phase(const std::vector<int>& values) {
  for (const int value : values) {
    if (plain_of_[value] >= 0) run_plain(plain_of_[value]);
    if (!wants_sums_ || plain_of_[value] >= 0) continue;
    if (mix_of_[value] >= 0) {
      finish_terms(mix_of_[value], false);
      if (program_.mixes[mix_of_[value]].partial > 1) finish_terms(mix_of_[value], true);
    } else if (between_[value]) {
      finish_between(value);
    }
  }
}

void CellBackward::finish_terms(int index, bool bypass) {
  const Mix& mix = program_.mixes[index];
  const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
  const int images = run_.call_.images;
  std::vector<std::vector<double>> dots(terms.size());  // of the gradient with the term, per image
  for_each(static_cast<int>(terms.size()), run_.call_.threads,
           [&](int t, int) { dots[t] = finish_term(index, bypass, t); });
  if (!call_.weights) return;
  for (size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].weight < 0) continue;
    if (run_.call_.weights_per_image) {
      float* gradients = call_.weights + static_cast<ptrdiff_t>(terms[t].weight) * images;
      for (int n = 0; n < images; ++n) gradients[n] += static_cast<float>(dots[t][n]);
    } else {
      call_.weights[terms[t].weight] += static_cast<float>(std::accumulate(dots[t].begin(), dots[t].end(), 0.0));
    }
  }
}

std::vector<double> CellBackward::finish_term(int index, bool bypass, int t) {
  const Mix& mix = program_.mixes[index];
  const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
  const int c = plane_channels(index, bypass), images = run_.call_.images;
  const size_t per_image = (2 * terms.size() + 1) * c;
  const float* sums = sums_.data() + (bypass ? bypass_sums_ : main_sums_)[index];
  const Read& read = terms[t].read;
  const CellRun::NormCoefficients* norm = read.norm >= 0 ? &run_.norms_[read.norm] : nullptr;
  std::vector<double> plain(read.first + c, 0.0), product(read.first + c, 0.0), dots(images, 0.0);
  const auto sums_of_term = [&](int n) { return sums + n * per_image + (2 * t + 1) * c; };
  const auto gradient_sums = [&](int n) { return read.relu ? sums_of_term(n) : sums + n * per_image; };
  for (int n = 0; n < images; ++n) {
    const float *of_term = sums_of_term(n), *g = gradient_sums(n);
    const double w = run_.weight(terms[t].weight, n);
    for (int k = 0; k < read.channels; ++k) {
      const int at = read.first + k;
      plain[at] += w * g[k];
      product[at] += w * of_term[c + k];
      dots[n] +=
          norm ? double{norm->scale[at]} * of_term[c + k] + double{norm->offset[at]} * g[k] : double{of_term[c + k]};
    }
  }
  if (!norm) return dots;
  finish_norm(read.norm, plain, product);
  if (call_.samples) {
    note_norm_samples(read.norm, plain, product, [&](int n, int k) {
      const double w = run_.weight(terms[t].weight, n);
      return std::pair(w * gradient_sums(n)[k - read.first], w * sums_of_term(n)[c + k - read.first]);
    });
  }
  return dots;
}

void CellBackward::finish_between(int value) {
  const int norm = between_read(value).norm;
  if (norm < 0) return;
  const int c = run_.channels(value);
  std::vector<double> plain(c, 0.0), product(c, 0.0);
  for (int n = 0; n < run_.call_.images; ++n) {
    const float* sums = sums_between(value, n);
    for (int k = 0; k < c; ++k) {
      plain[k] += sums[k];
      product[k] += sums[c + k];
    }
  }
  finish_norm(norm, plain, product);
  if (!call_.samples) return;
  note_norm_samples(norm, plain, product, [&](int n, int k) {
    const float* sums = sums_between(value, n);
    return std::pair(double{sums[k]}, double{sums[c + k]});
  });
}

// `plain` is the sum of the gradient behind the norm, `product` that of its product with value - mean.
void CellBackward::finish_norm(int index, const std::vector<double>& plain, const std::vector<double>& product) {
  const Norm& norm = program_.norms[index];
  const CellRun::NormCoefficients& forward = run_.norms_[index];
  const int channels = program_.values[norm.value].channels;
  const double count = static_cast<double>(program_.values[norm.value].pixels()) * run_.call_.images;
  NormGradient& to = norms_[index];
  if (run_.call_.training) {
    to.value_scale.assign(forward.scale.size(), 0.0f);
    to.constant.assign(forward.scale.size(), 0.0f);
  }
  for (int k = 0; k < channels; ++k) {
    const double normalised = product[k] * forward.inverse[k];
    if (norm.weight >= 0 && call_.parameters[norm.weight])
      call_.parameters[norm.weight][k] = static_cast<float>(normalised);
    if (norm.bias >= 0 && call_.parameters[norm.bias]) call_.parameters[norm.bias][k] = static_cast<float>(plain[k]);
    if (!run_.call_.training) continue;
    const double scale = forward.scale[k], slope = normalised * forward.inverse[k] / count;
    to.value_scale[k] = static_cast<float>(-scale * slope);
    to.constant[k] = static_cast<float>(-scale * plain[k] / count);
  }
}

template <class Gradients>
void CellBackward::note_norm_samples(int index, const std::vector<double>& plain, const std::vector<double>& product,
                                     const Gradients& gradients) {
  const Norm& norm = program_.norms[index];
  if (norm.weight < 0) return;
  const std::vector<float>& inverse = run_.norms_[index].inverse;
  const int channels = program_.values[norm.value].channels, images = run_.call_.images;
  double of_scale = 0, of_shift = 0;
  for (int n = 0; n < images; ++n) {
    double scale_square = 0, shift_square = 0;
    for (int k = 0; k < channels; ++k) {
      const auto [shift, unscaled] = gradients(n, k);
      const double scale = unscaled * inverse[k], scale_mean = product[k] * inverse[k] / images;
      scale_square += scale * scale;
      shift_square += shift * shift;
      of_scale += (scale - scale_mean) * (scale - scale_mean);
      of_shift += (shift - plain[k] / images) * (shift - plain[k] / images);
    }
    call_.samples->squares[size_t(norm.weight) * images + n] = scale_square;
    call_.samples->squares[size_t(norm.bias) * images + n] = shift_square;
  }
  call_.samples->deviations[norm.weight] = of_scale;
  call_.samples->deviations[norm.bias] = of_shift;
}

// Welford's recurrence: the squared distance from the mean of the images before, times their share among all.
void CellBackward::note_weight_samples(int n, int before, const float* own, float* sum,
                                       std::vector<double>& deviations) {
  const double share = static_cast<double>(before) / (before + 1);
  const float inverse = before > 0 ? 1.0f / static_cast<float>(before) : 0.0f;
  for (const Packing::GradientSpan& span : spans_) {
    const auto [square, distance] = kernels_.add_and_compare(own + span.first, span.count, inverse, sum + span.first);
    call_.samples->squares[size_t(span.parameter) * run_.call_.images + n] += square;
    deviations[span.parameter] += share * distance;
  }
}

// From the means of groups to that of all (Chan, Golub and LeVeque).
void CellBackward::finish_weight_samples() {
  const size_t floats = run_.packing_.gradient_floats();
  const double images = run_.call_.images;
  std::vector<double> counts, between(spans_.size());
  for (int g = 0; g < groups_; ++g) counts.push_back(group_begin(g + 1) - group_begin(g));
  for_each(static_cast<int>(spans_.size()), run_.call_.threads, [&](int s, int) {
    const Packing::GradientSpan& span = spans_[s];
    double sum = 0;
    for (size_t i = span.first; i < span.first + span.count; ++i) {
      const float* gradients = weight_gradients_.data() + i;
      double total = 0;
      for (int g = 0; g < groups_; ++g) total += gradients[g * floats];
      const double mean = total / images;
      for (int g = 0; g < groups_; ++g) {
        const double apart = gradients[g * floats] - counts[g] * mean;
        sum += apart * apart / counts[g];
      }
    }
    between[s] = sum;
  });
  for (size_t s = 0; s < spans_.size(); ++s) call_.samples->deviations[spans_[s].parameter] += between[s];
  for (const std::vector<double>& deviations : group_deviations_) {
    for (size_t p = 0; p < deviations.size(); ++p) call_.samples->deviations[p] += deviations[p];
  }
}

}  // namespace nascent::kernels
