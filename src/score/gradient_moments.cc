#include "nascent/score/gradient_moments.h"

#include <ATen/ATen.h>

#include <numeric>

#include "nascent/core/error.h"
#include "nascent/score/engine_gradients.h"
#include "nascent/score/sample_gradients.h"

namespace nascent {

namespace {

at::Tensor over_pixels(const at::Tensor& x) { return x.dim() == 4 ? x.sum({2, 3}) : x; }

class PiecePass {
 public:
  PiecePass(const Tape& tape, const PieceVisitor& visit) : tape_(tape), visit_(visit) {}

  void step(const Step& step, const at::Tensor& x, const Trace::Norm& norm, const at::Tensor& gradient) const {
    if (step.bias.defined()) whole(step, "bias", step.bias, over_pixels(gradient));
    if (step.scale.defined()) {
      whole(step, "weight", step.scale, scale_gradients(x, norm, gradient));
    }
    if (!step.weight.defined()) return;
    ParameterPiece piece = piece_of(step, "weight", step.weight);
    // A factorised reduce is two steps with some rows of one weight each.
    piece.sizes[0] = tape_.rows(step.layer);
    if (step.kind == StepKind::conv) piece.convolution = &step;
    const int64_t per_row = step.weight.numel() / step.weight.size(0);
    for_each_block(step, x, gradient, [&](const at::Tensor& rows, int64_t first) {
      piece.first = (step.first_row + first) * per_row;
      piece.gradients = rows;
      visit_(piece);
    });
  }

 private:
  ParameterPiece piece_of(const Step& step, const std::string& name, const at::Tensor& parameter) const {
    const std::string& layer = tape_.layers()[step.layer];
    return {.layer = layer, .parameter = layer + "." + name, .sizes = parameter.sizes().vec()};
  }

  void whole(const Step& step, const std::string& name, const at::Tensor& parameter, at::Tensor gradients) const {
    ParameterPiece piece = piece_of(step, name, parameter);
    piece.gradients = std::move(gradients);
    visit_(piece);
  }

  const Tape& tape_;
  const PieceVisitor& visit_;
};

BatchMoments moments_of_piece(const ParameterPiece& piece) {
  const at::Tensor squares = piece.gradients.square().sum(1, false, at::kDouble);
  const at::Tensor mean = piece.gradients.mean(0, false, at::kDouble);
  const at::Tensor apart = piece.gradients - mean.to(piece.gradients.scalar_type());
  return {.layer = piece.layer,
          .parameter = piece.parameter,
          .sizes = piece.sizes,
          .first = piece.first,
          .mean = piece.in_order(mean),
          .squares = {squares.data_ptr<double>(), squares.data_ptr<double>() + squares.numel()},
          .deviations = apart.square().sum(at::kDouble).item<double>()};
}

}  // namespace

at::Tensor ParameterPiece::in_order(const at::Tensor& row) const {
  return convolution ? in_weight_order(*convolution, row).reshape({-1}) : row;
}

void for_each_sample_gradient(const Tape& tape, const Trace& trace, const at::Tensor& seed, const PieceVisitor& visit) {
  const PiecePass pass(tape, visit);
  backward(
      tape, trace, seed, Statistics::constant,
      [&](size_t i, const at::Tensor& gradient) {
        const Step& step = tape.steps()[i];
        pass.step(step, trace.values[step.in[0]], trace.norms[i], gradient);
      },
      /*to_image=*/false, Visits::parameters);
}

void for_each_moment(const Tape& tape, const Step& step, const at::Tensor& x, const Trace::Norm& norm,
                     const at::Tensor& gradient, const MomentsVisitor& visit) {
  const PieceVisitor piece = [&](const ParameterPiece& found) { visit(moments_of_piece(found)); };
  PiecePass(tape, piece).step(step, x, norm, gradient);
}

GradientMoments::GradientMoments(const Tape& tape, Network& network) : tape_(tape) {
  if (EngineGradients::can_compute(tape, network)) engine_ = std::make_shared<EngineGradients>(tape, network);
}

void GradientMoments::add(const at::Tensor& images, const at::Tensor& labels) {
  if (!tape_.is_connected()) fail("No path leads from the images to the logits, so there are no gradients.");
  if (engine_) {
    engine_->for_each_moment(images, labels, [&](const BatchMoments& batch) { add(batch); });
  } else {
    at::NoGradGuard no_grad;
    const Trace trace = forward(tape_, images);
    const at::Tensor seed = cross_entropy_seed(trace.values[tape_.logits()], labels);
    for_each_sample_gradient(tape_, trace, seed, [&](const ParameterPiece& piece) { add(moments_of_piece(piece)); });
  }
  images_ += images.size(0);
}

// Deviations are taken from the batch's own mean and moved to the common one (Chan, Golub and LeVeque), so that little
// is lost where the variance is small beside the mean.
void GradientMoments::add(const BatchMoments& batch) {
  const auto count = static_cast<int64_t>(batch.squares.size());
  LayerSums& layer = layers_[batch.layer];
  layer.squared_norms.resize(images_ + count);
  for (int64_t i = 0; i < count; ++i) layer.squared_norms[images_ + i] += batch.squares[i];
  at::Tensor& mean = means_[batch.parameter];
  if (!mean.defined()) mean = at::zeros(batch.sizes, at::kDouble);
  const at::Tensor own = batch.mean.contiguous();
  const double *from = own.data_ptr<double>(),
               share = static_cast<double>(count) / static_cast<double>(images_ + count);
  double* common = mean.data_ptr<double>() + batch.first;
  double between = 0;
  for (int64_t i = 0; i < own.numel(); ++i) {
    const double apart = from[i] - common[i];
    between += apart * apart;
    common[i] += share * apart;
  }
  layer.deviations += batch.deviations + static_cast<double>(images_) * share * between;
}

GradientMoments::Moments GradientMoments::moments_of(const LayerSums& sums) const {
  const auto count = static_cast<double>(images_);
  return {.mean_square = std::accumulate(sums.squared_norms.begin(), sums.squared_norms.end(), 0.0) / count,
          .variance = sums.deviations / count};
}

GradientMoments::Moments GradientMoments::total() const {
  Moments sum;
  for (const auto& [name, moments] : layers()) {
    sum.mean_square += moments.mean_square;
    sum.variance += moments.variance;
  }
  return sum;
}

std::map<std::string, GradientMoments::Moments> GradientMoments::layers() const {
  std::map<std::string, Moments> all;
  for (const auto& [name, sums] : layers_) all[name] = moments_of(sums);
  return all;
}

std::vector<double> GradientMoments::squared_norms() const {
  std::vector<double> sum(images_);
  for (const auto& [name, sums] : layers_) {
    for (int64_t i = 0; i < images_; ++i) sum[i] += sums.squared_norms[i];
  }
  return sum;
}

const std::vector<double>& GradientMoments::squared_norms(const std::string& layer) const {
  const auto found = layers_.find(layer);
  if (found == layers_.end()) fail("There are no gradients of a layer '{}'.", layer);
  return found->second.squared_norms;
}

}  // namespace nascent
