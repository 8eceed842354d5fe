#include "nascent/nn/fused_cell.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstring>

#include "nascent/kernels/cell_run.h"
#include "nascent/nn/cell.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/plain_operation.h"
#include "nascent/nn/sample_observer.h"

namespace nascent {

namespace {

using kernels::CellRun;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

at::ScalarType type_of(Precision precision) { return precision == Precision::single ? at::kFloat : at::kBFloat16; }

// Where its numbers are.
kernels::Numbers numbers_at(const at::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.scalar_type() == at::kFloat ? Precision::single : Precision::bf16};
}

// Everything about one pass that is not a tensor to differentiate by.
struct Pass {
  const Cell* cell = nullptr;
  std::shared_ptr<const LoweredCell> lowered;
  CellContext context;
  std::vector<std::vector<int>> active;   // of the mixture
  std::vector<std::vector<float>> masks;  // by edge, empty where nothing is dropped
  bool keep = false, per_image = false;
  bool inputs_only = false;            // of all tensors, at most inputs are differentiated by
  SampleObserver* observer = nullptr;  // null: none
  int64_t images = 0;
  std::vector<float> ops, edges;
  std::vector<int64_t> ops_sizes;
  int64_t ops_per_site = 0, ops_images = 1;
  // Filled by the forward pass.
  variable_list inputs;  // whose memory the run reads
  std::vector<PlainOperation> plain;
  std::unique_ptr<CellRun> run;

  void release() {
    run.reset();
    plain.clear();
    inputs.clear();
  }

  float op_weight(const WeightRow& row, int64_t n) const;
  float edge_weight(const WeightRow& row) const { return row.edge < 0 ? 1 : edges[row.edge]; }
  float mask(const WeightRow& row, int64_t n) const { return row.mask < 0 ? 1 : masks[row.mask][n]; }
  int64_t op_index(const WeightRow& row, int64_t n) const;
};

int64_t Pass::op_index(const WeightRow& row, int64_t n) const {
  return (row.site * ops_per_site + row.candidate) * ops_images + (ops_images > 1 ? n : 0);
}

float Pass::op_weight(const WeightRow& row, int64_t n) const { return row.site < 0 ? 1 : ops[op_index(row, n)]; }

std::vector<float> numbers_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor values = tensor.detach().contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

std::vector<float> row_weights(const Pass& pass) {
  const int64_t columns = pass.per_image ? pass.images : 1;
  std::vector<float> weights;
  for (const WeightRow& row : pass.lowered->rows) {
    for (int64_t n = 0; n < columns; ++n)
      weights.push_back(pass.op_weight(row, n) * pass.edge_weight(row) * pass.mask(row, n));
  }
  return weights;
}

// The chain rule through the products that make up the rows.
void spread_row_gradients(const Pass& pass, const std::vector<float>& rows, at::Tensor& ops, at::Tensor& edges) {
  const int64_t columns = pass.per_image ? pass.images : 1;
  for (size_t r = 0; r < pass.lowered->rows.size(); ++r) {
    const WeightRow& row = pass.lowered->rows[r];
    for (int64_t n = 0; n < columns; ++n) {
      const float gradient = rows[r * columns + n] * pass.mask(row, n);
      if (ops.defined() && row.site >= 0)
        ops.data_ptr<float>()[pass.op_index(row, n)] += gradient * pass.edge_weight(row);
      if (edges.defined() && row.edge >= 0) edges.data_ptr<float>()[row.edge] += gradient * pass.op_weight(row, n);
    }
  }
}

const Layer& layer_at(const Cell& cell, const StageAt& at) {
  return *cell.sequences()[at.sequence]->layers()[at.stage];
}

const at::Tensor& parameter_at(const Cell& cell, const ParameterAt& parameter) {
  const Layer& layer = layer_at(cell, parameter.at);
  return parameter.bias ? layer.bias() : layer.weight();
}

at::Tensor run_forward(Pass& pass, const variable_list& inputs) {
  const kernels::CellProgram& program = *pass.lowered->program;
  kernels::ForwardCall call{.images = static_cast<int>(pass.images),
                            .threads = at::get_num_threads(),
                            .training = pass.cell->is_training(),
                            .keep = pass.keep,
                            .inputs_only = pass.inputs_only,
                            .momentum = static_cast<float>(kNormMomentum),
                            .epsilon = static_cast<float>(kNormEpsilon)};
  for (const at::Tensor& input : inputs) {
    pass.inputs.push_back(input.detach().contiguous(kChannelsLast));
    call.inputs.push_back(numbers_at(pass.inputs.back()));
  }
  variable_list parameters;
  for (const ParameterAt& at : pass.lowered->parameters) {
    const at::Tensor& parameter = parameter_at(*pass.cell, at);
    if (!parameter.is_contiguous()) parameters.push_back(parameter.detach().contiguous());
    call.parameters.push_back((parameter.is_contiguous() ? parameter : parameters.back()).data_ptr<float>());
  }
  for (const StageAt& at : pass.lowered->norms) {
    const Layer& norm = layer_at(*pass.cell, at);
    call.running.push_back({norm.running_mean().data_ptr<float>(), norm.running_var().data_ptr<float>()});
  }
  for (const int sequence : pass.lowered->plain) pass.plain.emplace_back(*pass.cell->sequences()[sequence]);
  for (PlainOperation& operation : pass.plain) {
    call.plain.push_back([&operation, keep = pass.keep](const kernels::Batch& from, const kernels::Batch& to) {
      operation.forward(from, to, keep);
    });
  }
  const std::vector<float> weights = row_weights(pass);
  call.weights = weights.data();
  call.weight_rows = static_cast<int>(pass.lowered->rows.size());
  call.weights_per_image = pass.per_image;
  const kernels::ValueShape& shape = program.values[program.outputs.front()];
  at::Tensor output = at::empty({pass.images, program.output_channels(), shape.height, shape.width},
                                inputs[0].options().dtype(type_of(program.precision)).memory_format(kChannelsLast));
  auto plan = pass.lowered->plans->of(call.kind());
  pass.run = std::make_unique<CellRun>(std::move(plan), std::move(call));
  pass.run->forward(numbers_at(output));
  if (!pass.keep) pass.release();
  return output;
}

// What autograd's graph holds of a cell. Its edges lead to the inputs, the mixture's ops and edges (either may be
// undefined) and the parameters. torch::autograd::Function would do, but it copies each tensor several times, and a
// cell has a hundred weights; besides, only the plain twin needs their values again, and finds them in the cell.
class FusedCellNode : public torch::autograd::Node {
 public:
  FusedCellNode(std::unique_ptr<Pass> pass, const variable_list& inputs, const at::Tensor& ops,
                const at::Tensor& edges);
  variable_list apply(variable_list&& outer) override;
  void release_variables() override;
  std::string name() const override { return "FusedCell"; }

 private:
  static constexpr size_t kWeights = 2;  // of a mixture

  size_t inputs() const { return saved_.size() - kWeights; }
  // The place of a parameter among the edges.
  size_t edge_of(size_t parameter) const { return saved_.size() + parameter; }
  const at::Tensor& parameter(size_t index) const {
    return parameter_at(*pass_->cell, pass_->lowered->parameters[index]);
  }
  int64_t versions() const;
  variable_list fused_backward(const at::Tensor& outer);
  variable_list plain_backward(const at::Tensor& outer);
  void tell_samples(const kernels::BackwardCall& call, const kernels::SampleMoments& samples) const;

  std::unique_ptr<Pass> pass_;
  std::vector<torch::autograd::SavedVariable> saved_;  // inputs, ops and edges
  int64_t versions_;
};

FusedCellNode::FusedCellNode(std::unique_ptr<Pass> pass, const variable_list& inputs, const at::Tensor& ops,
                             const at::Tensor& edges)
    : pass_(std::move(pass)), versions_(versions()) {
  using torch::autograd::impl::gradient_edge;
  const auto save = [&](const at::Tensor& tensor) {
    saved_.emplace_back(tensor, /*is_output=*/false);
    add_next_edge(tensor.defined() ? gradient_edge(tensor) : torch::autograd::Edge());
  };
  for (const at::Tensor& input : inputs) save(input);
  save(ops);
  save(edges);
  for (size_t i = 0; i < pass_->lowered->parameters.size(); ++i) add_next_edge(gradient_edge(parameter(i)));
}

// Grows when a parameter is written to.
int64_t FusedCellNode::versions() const {
  int64_t sum = 0;
  for (size_t i = 0; i < pass_->lowered->parameters.size(); ++i) sum += parameter(i)._version();
  return sum;
}

void FusedCellNode::release_variables() {
  const std::lock_guard lock(mutex_);
  pass_->release();
  for (torch::autograd::SavedVariable& variable : saved_) variable.reset_data();
}

variable_list FusedCellNode::apply(variable_list&& outer) {
  const std::lock_guard lock(mutex_);
  const at::Tensor gradient = outer[0].defined() ? outer[0] : input_metadata(0).zeros_like();
  // There is no run if there was a pass already, of a graph that is retained.
  if (at::GradMode::is_enabled() || !pass_->run) return plain_backward(gradient);
  return fused_backward(gradient);
}

// Puts running statistics back as they were: the plain twin would count the batch a second time. They are written past
// autograd, which would take it for a change of something it needs.
class RunningStatisticsGuard {
 public:
  explicit RunningStatisticsGuard(const Cell& cell) {
    for (const at::Tensor& tensor : cell.buffers()) saved_.emplace_back(tensor, tensor.clone());
  }
  ~RunningStatisticsGuard() {
    for (const auto& [tensor, copy] : saved_) std::memcpy(tensor.data_ptr(), copy.data_ptr(), tensor.nbytes());
  }
  RunningStatisticsGuard(const RunningStatisticsGuard&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> saved_;
};

at::Tensor seen_anew(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return tensor.scalar_type() == at::kBFloat16 ? tensor.to(at::kFloat) : tensor.view_as(tensor);
}

// Gradients that can be differentiated again: the plain twin is run on the same tensors and asked for its gradients.
// Inputs and mixture are seen through views: one input may have been made of another, and all of them with the same
// mixture, and what flows through those is the outer pass's to add. The twin computes in float.
variable_list FusedCellNode::plain_backward(const at::Tensor& outer) {
  const at::AutoGradMode enabled(true);
  variable_list saved, seen;
  for (const torch::autograd::SavedVariable& variable : saved_) {
    saved.push_back(variable.unpack());
    seen.push_back(seen_anew(saved.back()));
  }
  TORCH_CHECK(versions() == versions_, "The weights of a cell have changed since its forward pass.");
  const RunningStatisticsGuard guard(*pass_->cell);
  const variable_list inputs_seen(seen.begin(), seen.end() - kWeights);
  CellMixture mixture{.ops = seen[inputs()], .edges = seen[inputs() + 1], .active = pass_->active};
  CellContext context = pass_->context;
  context.mixture = mixture.ops.defined() || mixture.edges.defined() ? &mixture : nullptr;
  const at::Tensor output = pass_->cell->plain_states(inputs_seen, context);
  for (size_t i = 0; i < pass_->lowered->parameters.size(); ++i) seen.push_back(parameter(i));
  const auto is_wanted = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  variable_list wanted;
  std::copy_if(seen.begin(), seen.end(), std::back_inserter(wanted), is_wanted);
  const variable_list found =
      torch::autograd::grad({output}, wanted, {outer.to(output.scalar_type())},
                            /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  variable_list grads;
  size_t next = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    grads.push_back(is_wanted(seen[i]) ? found[next++] : at::Tensor());
    if (i < inputs() && grads.back().defined()) grads.back() = grads.back().to(saved[i].scalar_type());
  }
  return grads;
}

variable_list FusedCellNode::fused_backward(const at::Tensor& outer) {
  Pass& pass = *pass_;
  const at::Tensor gradient = outer.contiguous(kChannelsLast);
  kernels::BackwardCall call{.output_gradient = numbers_at(gradient)};
  variable_list grads;
  for (size_t i = 0; i < inputs(); ++i) {
    grads.push_back(task_should_compute_output(i) ? at::empty_like(pass.inputs[i]) : at::Tensor());
    call.inputs.push_back(grads[i].defined() ? numbers_at(grads[i]) : kernels::Numbers());
  }
  const bool wants_ops = task_should_compute_output(inputs());
  const bool wants_edges = task_should_compute_output(inputs() + 1);
  std::vector<float> rows(pass.lowered->rows.size() * (pass.per_image ? pass.images : 1), 0.0f);
  if (wants_ops || wants_edges) call.weights = rows.data();
  grads.push_back(wants_ops ? at::zeros(pass.ops_sizes) : at::Tensor());
  grads.push_back(wants_edges ? at::zeros({static_cast<int64_t>(pass.edges.size())}) : at::Tensor());
  for (size_t i = 0; i < pass.lowered->parameters.size(); ++i) {
    const bool wanted = task_should_compute_output(edge_of(i));
    grads.push_back(wanted ? at::Tensor(at::detail::empty_cpu(parameter(i).sizes(), at::kFloat)) : at::Tensor());
    call.parameters.push_back(wanted ? grads.back().data_ptr<float>() : nullptr);
  }
  for (const kernels::Unit& unit : pass.lowered->program->units) {
    if (unit.kind != kernels::Unit::Kind::plain) continue;
    variable_list of_parameters;
    for (const int parameter : unit.parameters) of_parameters.push_back(grads[edge_of(parameter)]);
    call.plain.push_back([&operation = pass.plain[unit.plain], of_parameters](const auto& from, const auto& to) {
      operation.backward(from, to, of_parameters);
    });
  }
  kernels::SampleMoments samples;
  if (pass.observer) call.samples = &samples;
  pass.run->backward(call);
  if (pass.observer) tell_samples(call, samples);
  if (call.weights) spread_row_gradients(pass, rows, grads[inputs()], grads[inputs() + 1]);
  pass.release();  // autograd lets go of it only when the passes of all cells are done
  return grads;
}

void FusedCellNode::tell_samples(const kernels::BackwardCall& call, const kernels::SampleMoments& samples) const {
  for (size_t p = 0; p < call.parameters.size(); ++p) {
    if (!call.parameters[p]) continue;
    const auto first = samples.squares.begin() + static_cast<int64_t>(p) * pass_->images;
    pass_->observer->cell_differentiated(parameter(p), {first, first + pass_->images}, samples.deviations[p]);
  }
}

bool can_fuse(const std::vector<at::Tensor>& inputs, const CellMixture* mixture) {
  const auto plain_float = [](const at::Tensor& x) {
    return !x.defined() || (x.is_cpu() && x.scalar_type() == at::kFloat);
  };
  const auto can_be_read = [&](const at::Tensor& x) {
    return plain_float(x) || (x.is_cpu() && x.scalar_type() == at::kBFloat16);
  };
  if (engine() != Engine::fused) return false;
  if (mixture && !(plain_float(mixture->ops) && plain_float(mixture->edges))) return false;
  return std::all_of(inputs.begin(), inputs.end(), can_be_read);
}

}  // namespace

std::shared_ptr<const LoweredCell> FusedCell::lowered(const CellMixture* mixture, bool masked) {
  const std::lock_guard lock(mutex_);
  if (LoweringKey key = lowering_key(mixture, masked); key_ != key) {
    lowered_ = std::make_shared<const LoweredCell>(lower(cell_.plan(), key));
    key_ = std::move(key);
  }
  return lowered_;
}

at::Tensor FusedCell::forward(const std::vector<at::Tensor>& inputs, const CellContext& context) {
  if (!can_fuse(inputs, context.mixture)) return {};
  const bool masked = cell_.drops(context);
  auto pass = std::make_unique<Pass>();
  pass->lowered = lowered(context.mixture, masked);
  pass->cell = &cell_;
  pass->context = context;
  pass->images = inputs[0].size(0);
  const CellMixture none, &mixture = context.mixture ? *context.mixture : none;
  pass->active = mixture.active;
  pass->ops = numbers_of(mixture.ops);
  pass->edges = numbers_of(mixture.edges);
  if (mixture.ops.defined()) {
    pass->ops_sizes = mixture.ops.sizes().vec();
    pass->ops_per_site = mixture.ops.size(1);
    pass->ops_images = mixture.ops.dim() == 3 ? mixture.ops.size(2) : 1;
  }
  pass->per_image = masked || pass->ops_sizes.size() == 3;
  if (masked) {
    for (int edge = 0; edge < cell_.edge_count(); ++edge) pass->masks.push_back(drop_mask(pass->images, context, edge));
  }
  const auto requires_grad = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  const std::vector<ParameterAt>& parameters = pass->lowered->parameters;
  const bool beyond_inputs = requires_grad(mixture.ops) || requires_grad(mixture.edges) ||
                             std::any_of(parameters.begin(), parameters.end(), [&](const ParameterAt& parameter) {
                               return requires_grad(parameter_at(cell_, parameter));
                             });
  pass->keep =
      at::GradMode::is_enabled() && (beyond_inputs || std::any_of(inputs.begin(), inputs.end(), requires_grad));
  pass->inputs_only = !beyond_inputs;
  if (!cell_.is_training() && pass->lowered->plain.empty()) pass->observer = sample_observer();
  at::Tensor output;
  {
    const at::NoGradGuard no_grad;
    output = run_forward(*pass, inputs);
  }
  if (!pass->keep) return output;
  torch::autograd::set_history(
      output, std::shared_ptr<FusedCellNode>(new FusedCellNode(std::move(pass), inputs, mixture.ops, mixture.edges),
                                             torch::autograd::deleteNode));
  return output;
}

}  // namespace nascent
