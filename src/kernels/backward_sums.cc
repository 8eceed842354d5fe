// Sums over the batch that the backward pass needs: the gradients of mixture weights and batch norms, and what those
// add to the gradients of the values before them.
#include <numeric>

#include "nascent/kernels/cell_backward.h"
#include "nascent/kernels/parallel.h"
#include "nascent/kernels/scratch.h"

namespace nascent::kernels {

// The norm behind which units read the value, -1: none.
int CellBackward::between_norm(int value) const {
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) return program_.units[reader.index].input.norm;
  }
  return -1;
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
    kernels_.mix_sums(plane(index, bypass, n), run_.scratch_[thread]->terms, pixels, c, sums);
  }
}

// Where the sums go that a norm between two units needs of its gradient; null where there is none.
float* CellBackward::sums_between(int value, int n) {
  if (!between_[value] || between_norm(value) < 0) return nullptr;
  return sums_.data() + between_sums_[value] + size_t{2} * run_.channels(value) * n;
}

void CellBackward::finish_phase(const std::vector<int>& values) {
  for (const int value : values) {
    if (mix_of_[value] >= 0) {
      finish_terms(mix_of_[value], false);
      if (program_.mixes[mix_of_[value]].partial > 1) finish_terms(mix_of_[value], true);
    } else if (plain_of_[value] >= 0) {
      run_plain(plain_of_[value]);
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
  for (int n = 0; n < images; ++n) {
    const float* of_term = sums + n * per_image + (2 * t + 1) * c;
    const float* g = read.relu ? of_term : sums + n * per_image;
    const double w = run_.weight(terms[t].weight, n);
    for (int k = 0; k < read.channels; ++k) {
      const int at = read.first + k;
      plain[at] += w * g[k];
      product[at] += w * of_term[c + k];
      dots[n] +=
          norm ? double{norm->scale[at]} * of_term[c + k] + double{norm->offset[at]} * g[k] : double{of_term[c + k]};
    }
  }
  if (norm) finish_norm(read.norm, plain, product);
  return dots;
}

void CellBackward::finish_between(int value) {
  const int norm = between_norm(value);
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

}  // namespace nascent::kernels
