#include "nascent/score/sample_gradients.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <algorithm>

#include "nascent/score/channel_kernels.h"

namespace nascent {

namespace {

// The windows of a convolution as the rows of a matrix [pixels of the output, kernel_h * kernel_w * in].
class Windows {
 public:
  Windows(const Step& step, const at::Tensor& x, const at::Tensor& gradient)
      : stage_(step.stage),
        x_(channels_last(x)),
        out_h_(gradient.dim() == 4 ? gradient.size(2) : 1),
        out_w_(gradient.dim() == 4 ? gradient.size(3) : 1) {}

  int64_t rows() const { return out_h_ * out_w_; }
  int64_t columns() const { return int64_t{stage_.kernel_h} * stage_.kernel_w * stage_.in; }

  // Of image i; `scratch` lends the memory.
  at::Tensor of(int64_t i, at::Tensor& scratch) const {
    if (is_plain()) return x_[i].permute({1, 2, 0}).reshape({rows(), columns()});
    if (!scratch.defined()) scratch = at::empty({rows(), columns()}, x_.options().memory_format(c10::nullopt));
    AT_DISPATCH_FLOATING_TYPES(x_.scalar_type(), "windows", [&] { fill<scalar_t>(i, scratch.data_ptr<scalar_t>()); });
    return scratch;
  }

 private:
  bool is_plain() const {
    return stage_.kind == StageKind::linear || (stage_.kernel_h == 1 && stage_.kernel_w == 1 && stage_.stride_h == 1 &&
                                                stage_.stride_w == 1 && stage_.padding_h == 0 && stage_.padding_w == 0);
  }

  template <class T>
  void fill(int64_t i, T* out) const {
    const int64_t height = x_.size(2), width = x_.size(3), channels = stage_.in;
    const T* image = x_.data_ptr<T>() + i * height * width * channels;
    for (int64_t h = 0; h < out_h_; ++h) {
      for (int64_t w = 0; w < out_w_; ++w) {
        const int64_t left = w * stage_.stride_w - stage_.padding_w;
        for (int64_t kh = 0; kh < stage_.kernel_h; ++kh, out += stage_.kernel_w * channels) {
          const int64_t row = h * stage_.stride_h - stage_.padding_h + kh * stage_.dilation;
          if (row < 0 || row >= height) {
            std::fill_n(out, stage_.kernel_w * channels, T(0));
          } else {
            fill_row(image + row * width * channels, left, width, channels, out);
          }
        }
      }
    }
  }

  // The pixels left, left + dilation, ... of a row; zeros where it has none.
  template <class T>
  void fill_row(const T* row, int64_t left, int64_t width, int64_t channels, T* out) const {
    if (stage_.dilation == 1 && left >= 0 && left + stage_.kernel_w <= width) {
      std::copy_n(row + left * channels, stage_.kernel_w * channels, out);
      return;
    }
    for (int64_t kw = 0; kw < stage_.kernel_w; ++kw, out += channels) {
      const int64_t column = left + kw * stage_.dilation;
      if (column < 0 || column >= width) {
        std::fill_n(out, channels, T(0));
      } else {
        std::copy_n(row + column * channels, channels, out);
      }
    }
  }

  Stage stage_;
  at::Tensor x_;
  int64_t out_h_, out_w_;
};

bool is_grouped(const Stage& stage) { return stage.kind == StageKind::conv && stage.groups > 1; }
bool is_depthwise(const Stage& stage) { return is_grouped(stage) && stage.groups == stage.in && stage.in == stage.out; }

// Group g of a grouped convolution as a convolution of its own, with its channels of input and output.
struct Group {
  Step step;
  at::Tensor x, gradient;
};

Group group_of(const Step& step, const at::Tensor& x, const at::Tensor& gradient, int64_t g) {
  const int64_t in = step.stage.in / step.stage.groups, out = step.stage.out / step.stage.groups;
  Group group{step, channels_last(x.narrow(1, g * in, in)), channels_last(gradient.narrow(1, g * out, out))};
  group.step.stage.in = static_cast<int>(in);
  group.step.stage.out = static_cast<int>(out);
  group.step.stage.groups = 1;
  return group;
}

// [N, pixels, channels]
at::Tensor by_pixel(const at::Tensor& gradient) {
  if (gradient.dim() == 2) return gradient.unsqueeze(1);
  return channels_last(gradient).permute({0, 2, 3, 1}).reshape({gradient.size(0), -1, gradient.size(1)});
}

// The input moved by tap (kh, kw) of a depthwise convolution: [N, C, height and width of the output].
at::Tensor tap(const Stage& stage, const at::Tensor& padded, const at::Tensor& gradient, int64_t kh, int64_t kw) {
  const int64_t top = kh * stage.dilation, left = kw * stage.dilation;
  return padded.slice(2, top, top + (gradient.size(2) - 1) * stage.stride_h + 1, stage.stride_h)
      .slice(3, left, left + (gradient.size(3) - 1) * stage.stride_w + 1, stage.stride_w);
}

at::Tensor padded_input(const Stage& stage, const at::Tensor& x) {
  return at::constant_pad_nd(x, {stage.padding_w, stage.padding_w, stage.padding_h, stage.padding_h});
}

at::Tensor depthwise_gradients(const Stage& stage, const at::Tensor& x, const at::Tensor& gradient) {
  const at::Tensor padded = padded_input(stage, x);
  std::vector<at::Tensor> taps;
  for (int64_t kh = 0; kh < stage.kernel_h; ++kh) {
    for (int64_t kw = 0; kw < stage.kernel_w; ++kw) {
      taps.push_back((tap(stage, padded, gradient, kh, kw) * gradient).sum({2, 3}));
    }
  }
  return at::stack(taps, 2);  // [N, C, taps]
}

// Cheaper where there are few pixels: <J_i, J_j> is the sum over pairs of pixels of <window, window> <gradient,
// gradient>.
at::Tensor pixel_gram(const Windows& windows, const at::Tensor& pixels) {
  const int64_t images = pixels.size(0), rows = windows.rows();
  at::Tensor scratch, all = at::empty({images, rows, windows.columns()}, pixels.options());
  for (int64_t i = 0; i < images; ++i) all[i].copy_(windows.of(i, scratch));
  const at::Tensor a = all.view({images * rows, -1}), g = pixels.reshape({images * rows, -1});
  return at::mm(a, a.t()).mul_(at::mm(g, g.t())).view({images, rows, images, rows}).sum({1, 3});
}

Visits visits_of(KernelParameters parameters) {
  return parameters == KernelParameters::weights ? Visits::weights : Visits::norms;
}

// A pass per image. Holds every gradient of every image: for small networks only.
at::Tensor coupled_gram(const Tape& tape, const Trace& trace, const at::Tensor& seed, KernelParameters parameters) {
  const int64_t images = seed.size(0);
  std::vector<at::Tensor> rows;
  for (int64_t image = 0; image < images; ++image) {
    at::Tensor own = at::zeros_like(seed);
    own[image].copy_(seed[image]);
    std::vector<at::Tensor> parts;
    const auto keep = [&](size_t i, const at::Tensor& gradient) {
      const Step& step = tape.steps()[i];
      const at::Tensor& x = trace.values[step.in[0]];
      parts.push_back(step.kind == StepKind::batch_norm ? scale_gradients(x, trace.norms[i], gradient).sum(0)
                                                        : weight_gradient(step, x, gradient).reshape({-1}));
    };
    backward(tape, trace, own, Statistics::coupled, keep, /*to_image=*/false, visits_of(parameters));
    if (parts.empty()) return at::zeros({images, images}, at::kDouble);
    rows.push_back(at::cat(parts));
  }
  const at::Tensor jacobian = at::stack(rows).to(at::kDouble);
  return at::mm(jacobian, jacobian.t());
}

}  // namespace

at::Tensor scale_gradients(const at::Tensor& x, const Trace::Norm& norm, const at::Tensor& gradient) {
  ChannelValues constant(norm.rate.size());
  for (size_t c = 0; c < constant.size(); ++c) constant[c] = -norm.rate[c] * norm.mean[c];
  const at::Tensor product = gradient * combine_channels({{x, norm.rate}}, constant);
  return product.dim() == 4 ? product.sum({2, 3}) : product;
}

at::Tensor gram_matrix(const Tape& tape, const Trace& trace, const at::Tensor& seed, KernelGradients gradients,
                       KernelParameters parameters) {
  if (gradients == KernelGradients::coupled) return coupled_gram(tape, trace, seed, parameters);
  const auto statistics = gradients == KernelGradients::summed ? Statistics::coupled : Statistics::constant;
  at::Tensor gram = at::zeros({seed.size(0), seed.size(0)}, at::kDouble);
  const auto add = [&](size_t i, const at::Tensor& gradient) {
    const Step& step = tape.steps()[i];
    const at::Tensor& x = trace.values[step.in[0]];
    if (step.kind != StepKind::batch_norm) return add_gram(step, x, gradient, gram);
    const at::Tensor rows = scale_gradients(x, trace.norms[i], gradient);
    gram.add_(at::mm(rows, rows.t()));
  };
  backward(tape, trace, seed, statistics, add, /*to_image=*/false, visits_of(parameters));
  return gram;
}

at::Tensor sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient, int64_t first,
                            int64_t count) {
  const int64_t images = gradient.size(0);
  if (is_depthwise(step.stage)) {
    return depthwise_gradients(step.stage, x, gradient).narrow(1, first, count).reshape({images, -1});
  }
  if (is_grouped(step.stage)) {
    std::vector<at::Tensor> groups;
    for (int64_t g = 0; g < step.stage.groups; ++g) {
      const Group group = group_of(step, x, gradient, g);
      const int64_t rows = group.step.stage.out;
      groups.push_back(sample_gradients(group.step, group.x, group.gradient, 0, rows).view({images, rows, -1}));
    }
    return at::cat(groups, 1).narrow(1, first, count).reshape({images, -1});
  }
  const Windows windows(step, x, gradient);
  const at::Tensor pixels = by_pixel(gradient).narrow(2, first, count);
  at::Tensor scratch, result = at::empty({images, count, windows.columns()}, pixels.options());
  for (int64_t i = 0; i < images; ++i) {
    at::Tensor own = result[i];
    at::mm_out(own, pixels[i].t(), windows.of(i, scratch));
  }
  return result.view({images, -1});
}

void add_gram(const Step& step, const at::Tensor& x, const at::Tensor& gradient, at::Tensor& gram) {
  at::NoGradGuard no_grad;
  const int64_t images = gradient.size(0), out = step.stage.out;
  const bool grouped = is_grouped(step.stage);
  if (!grouped) {
    const Windows windows(step, x, gradient);
    const double rows = static_cast<double>(windows.rows()), n = static_cast<double>(images),
                 weights = static_cast<double>(out * windows.columns());
    const double by_image = n * rows * weights + n * n * weights;
    const double by_pair = n * n * rows * rows * static_cast<double>(out + windows.columns());
    if (by_pair < by_image) {
      gram.add_(pixel_gram(windows, by_pixel(gradient)));
      return;
    }
  }
  for_each_block(step, x, gradient, [&](const at::Tensor& rows, int64_t) { gram.add_(at::mm(rows, rows.t())); });
}

void for_each_block(const Step& step, const at::Tensor& x, const at::Tensor& gradient, const BlockVisitor& visit) {
  const int64_t images = gradient.size(0), out = step.stage.out, weights = step.weight.numel() / out;
  const auto bytes = static_cast<int64_t>(images * weights * gradient.element_size());
  const int64_t block = is_grouped(step.stage) ? out : std::clamp<int64_t>(kGramBytes / bytes, 1, out);
  for (int64_t first = 0; first < out; first += block) {
    visit(sample_gradients(step, x, gradient, first, std::min(block, out - first)), first);
  }
}

at::Tensor in_weight_order(const Step& step, const at::Tensor& numbers) {
  const Stage& stage = step.stage;
  if (stage.kind == StageKind::linear) return numbers.view({-1, stage.in});
  return numbers.view({-1, stage.kernel_h, stage.kernel_w, stage.in / stage.groups}).permute({0, 3, 1, 2});
}

at::Tensor apply_sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient,
                                  const at::Tensor& operand) {
  const int64_t images = gradient.size(0);
  const Stage& stage = step.stage;
  if (is_depthwise(stage)) {
    const at::Tensor weights = depthwise_gradients(stage, x, gradient);
    const at::Tensor padded = padded_input(stage, operand);
    at::Tensor sum = at::zeros_like(gradient);
    for (int64_t k = 0; k < weights.size(2); ++k) {
      const at::Tensor weight = weights.select(2, k).unsqueeze(2).unsqueeze(3);
      sum.addcmul_(tap(stage, padded, gradient, k / stage.kernel_w, k % stage.kernel_w), weight);
    }
    return sum;
  }
  if (is_grouped(stage)) {
    std::vector<at::Tensor> groups;
    for (int64_t g = 0; g < stage.groups; ++g) {
      const Group group = group_of(step, x, gradient, g), other = group_of(step, operand, gradient, g);
      groups.push_back(apply_sample_gradients(group.step, group.x, group.gradient, other.x));
    }
    return at::cat(groups, 1);
  }
  const Windows windows(step, x, gradient), moved(step, operand, gradient);
  const at::Tensor pixels = by_pixel(gradient);
  at::Tensor scratch, other, result = at::empty(pixels.sizes(), pixels.options());
  for (int64_t i = 0; i < images; ++i) {
    const at::Tensor weight = at::mm(pixels[i].t(), windows.of(i, scratch));  // [out, columns]
    at::Tensor own = result[i];
    at::mm_out(own, moved.of(i, other), weight.t());
  }
  if (gradient.dim() == 2) return result.view(gradient.sizes());
  return result.view({images, gradient.size(2), gradient.size(3), -1}).permute({0, 3, 1, 2});
}

}  // namespace nascent
