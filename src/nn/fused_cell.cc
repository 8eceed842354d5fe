#include "nascent/nn/fused_cell.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

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
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

at::ScalarType type_of(Precision precision) { return precision == Precision::single ? at::kFloat : at::kBFloat16; }

// Where its numbers are.
kernels::Numbers numbers_at(const at::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.scalar_type() == at::kFloat ? Precision::single : Precision::bf16};
}

// Everything about one pass that is not a tensor to differentiate by.
struct Pass : torch::CustomClassHolder {
  const Cell* cell = nullptr;
  std::shared_ptr<const LoweredCell> lowered;
  CellContext context;
  std::vector<std::vector<int>> active;   // of the mixture
  std::vector<std::vector<float>> masks;  // by edge, empty where nothing is dropped
  bool keep = false, per_image = false;
  bool inputs_only = false;            // of all tensors, at most inputs are differentiated by
  SampleObserver* observer = nullptr;  // null: none
  int64_t images = 0;
  // Filled by the forward pass.
  variable_list held;  // whose memory the run reads
  std::vector<float> ops, edges;
  std::vector<PlainOperation> plain;
  std::unique_ptr<CellRun> run;

  void release() {
    run.reset();
    plain.clear();
    held.clear();
  }

  size_t inputs() const { return cell->inputs(); }
  size_t first_parameter() const { return inputs() + 2; }

  float op_weight(const WeightRow& row, int64_t n) const;
  float edge_weight(const WeightRow& row) const { return row.edge < 0 ? 1 : edges[row.edge]; }
  float mask(const WeightRow& row, int64_t n) const { return row.mask < 0 ? 1 : masks[row.mask][n]; }
  int64_t op_index(const WeightRow& row, int64_t n) const;
  std::vector<int64_t> ops_sizes;
  int64_t ops_per_site = 0, ops_images = 1;
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

// The tensors are the inputs, the mixture's ops and edges (either may be undefined) and the parameters.
class FusedCellFunction : public torch::autograd::Function<FusedCellFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, c10::intrusive_ptr<Pass> pass, at::TensorList tensors);
  static variable_list backward(AutogradContext* context, variable_list outer);

 private:
  static variable_list plain_backward(const Pass& pass, const variable_list& saved, const at::Tensor& outer);
  static void tell_samples(const Pass& pass, const kernels::BackwardCall& call, const kernels::SampleMoments& samples);
};

at::Tensor FusedCellFunction::forward(AutogradContext* context, c10::intrusive_ptr<Pass> pass, at::TensorList tensors) {
  const kernels::CellProgram& program = *pass->lowered->program;
  kernels::ForwardCall call{.images = static_cast<int>(pass->images),
                            .threads = at::get_num_threads(),
                            .training = pass->cell->is_training(),
                            .keep = pass->keep,
                            .inputs_only = pass->inputs_only,
                            .momentum = static_cast<float>(kNormMomentum),
                            .epsilon = static_cast<float>(kNormEpsilon)};
  for (size_t i = 0; i < pass->inputs(); ++i) {
    pass->held.push_back(tensors[i].contiguous(kChannelsLast));
    call.inputs.push_back(numbers_at(pass->held.back()));
  }
  for (size_t i = pass->first_parameter(); i < tensors.size(); ++i) {
    pass->held.push_back(tensors[i].contiguous());
    call.parameters.push_back(pass->held.back().data_ptr<float>());
  }
  for (const StageAt& at : pass->lowered->norms) {
    const Layer& norm = layer_at(*pass->cell, at);
    call.running.push_back({norm.running_mean().data_ptr<float>(), norm.running_var().data_ptr<float>()});
  }
  for (const int sequence : pass->lowered->plain) pass->plain.emplace_back(*pass->cell->sequences()[sequence]);
  for (PlainOperation& operation : pass->plain) {
    call.plain.push_back([&operation, keep = pass->keep](const kernels::Batch& from, const kernels::Batch& to) {
      operation.forward(from, to, keep);
    });
  }
  const at::Tensor &ops = tensors[pass->inputs()], &edges = tensors[pass->inputs() + 1];
  pass->ops = numbers_of(ops);
  pass->edges = numbers_of(edges);
  const std::vector<float> weights = row_weights(*pass);
  call.weights = weights.data();
  call.weight_rows = static_cast<int>(pass->lowered->rows.size());
  call.weights_per_image = pass->per_image;
  const kernels::ValueShape& shape = program.values[program.outputs.front()];
  at::Tensor output = at::empty({pass->images, program.output_channels(), shape.height, shape.width},
                                tensors[0].options().dtype(type_of(program.precision)).memory_format(kChannelsLast));
  pass->run = std::make_unique<CellRun>(pass->lowered->program, std::move(call));
  pass->run->forward(numbers_at(output));
  if (!pass->keep) {
    pass->run.reset();
    pass->held.clear();
    return output;
  }
  context->save_for_backward(tensors.vec());
  context->saved_data["pass"] = c10::IValue::make_capsule(std::move(pass));
  return output;
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

// Gradients that can be differentiated again: the plain twin is run on the same tensors and asked for its gradients.
// Inputs and mixture are seen through views: one input may have been made of another, and all of them with the same
// mixture, and what flows through those is the outer pass's to add. The twin computes in float.
variable_list FusedCellFunction::plain_backward(const Pass& pass, const variable_list& saved, const at::Tensor& outer) {
  const RunningStatisticsGuard guard(*pass.cell);
  const at::AutoGradMode enabled(true);
  variable_list seen = saved;
  for (size_t i = 0; i < pass.first_parameter(); ++i)
    seen[i] = saved[i].scalar_type() == at::kBFloat16 ? saved[i].to(at::kFloat) : saved[i].view_as(saved[i]);
  CellMixture mixture{.ops = seen[pass.inputs()], .edges = seen[pass.inputs() + 1], .active = pass.active};
  if (pass.edges.empty()) mixture.edges = at::Tensor();
  CellContext context = pass.context;
  context.mixture = pass.ops.empty() && pass.edges.empty() ? nullptr : &mixture;
  const variable_list inputs(seen.begin(), seen.begin() + static_cast<int64_t>(pass.inputs()));
  const at::Tensor output = pass.cell->plain_states(inputs, context);
  variable_list wanted;
  for (const at::Tensor& tensor : seen) {
    if (tensor.requires_grad()) wanted.push_back(tensor);
  }
  const variable_list found =
      torch::autograd::grad({output}, wanted, {outer.to(output.scalar_type())},
                            /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  variable_list grads(1);  // the pass itself has none
  size_t next = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    grads.push_back(seen[i].requires_grad() ? found[next++] : at::Tensor());
    if (grads.back().defined()) grads.back() = grads.back().to(saved[i].scalar_type());
  }
  return grads;
}

variable_list FusedCellFunction::backward(AutogradContext* context, variable_list outer) {
  const auto capsule = context->saved_data["pass"].toCapsule();
  Pass& pass = static_cast<Pass&>(*capsule);
  // There is no run if there was a pass already, of a graph that is retained.
  if (at::GradMode::is_enabled() || !pass.run) return plain_backward(pass, context->get_saved_variables(), outer[0]);
  const at::Tensor gradient = outer[0].contiguous(kChannelsLast);
  kernels::BackwardCall call{.output_gradient = numbers_at(gradient)};
  variable_list grads(1);  // the pass itself has none
  const auto wanted = [&](size_t tensor, const at::Tensor& like) {
    grads.push_back(context->needs_input_grad(tensor) ? at::empty_like(like) : at::Tensor());
    return grads.back().defined() ? numbers_at(grads.back()) : kernels::Numbers();
  };
  for (size_t i = 0; i < pass.inputs(); ++i) call.inputs.push_back(wanted(i, pass.held[i]));
  const bool wants_ops = context->needs_input_grad(pass.inputs()) && !pass.ops.empty();
  const bool wants_edges = context->needs_input_grad(pass.inputs() + 1) && !pass.edges.empty();
  std::vector<float> rows(pass.lowered->rows.size() * (pass.per_image ? pass.images : 1), 0.0f);
  if (wants_ops || wants_edges) call.weights = rows.data();
  grads.push_back(wants_ops ? at::zeros(pass.ops_sizes) : at::Tensor());
  grads.push_back(wants_edges ? at::zeros({static_cast<int64_t>(pass.edges.size())}) : at::Tensor());
  for (size_t i = pass.inputs(); i < pass.held.size(); ++i)
    call.parameters.push_back(wanted(pass.first_parameter() + i - pass.inputs(), pass.held[i]).as<float>());
  for (const kernels::Unit& unit : pass.lowered->program->units) {
    if (unit.kind != kernels::Unit::Kind::plain) continue;
    variable_list of_parameters;
    for (const int parameter : unit.parameters) of_parameters.push_back(grads[1 + pass.first_parameter() + parameter]);
    call.plain.push_back([&operation = pass.plain[unit.plain], of_parameters](const auto& from, const auto& to) {
      operation.backward(from, to, of_parameters);
    });
  }
  kernels::SampleMoments samples;
  if (pass.observer) call.samples = &samples;
  pass.run->backward(call);
  if (pass.observer) tell_samples(pass, call, samples);
  if (call.weights) spread_row_gradients(pass, rows, grads[1 + pass.inputs()], grads[2 + pass.inputs()]);
  pass.release();  // autograd lets go of it only when the passes of all cells are done
  return grads;
}

void FusedCellFunction::tell_samples(const Pass& pass, const kernels::BackwardCall& call,
                                     const kernels::SampleMoments& samples) {
  for (size_t p = 0; p < call.parameters.size(); ++p) {
    if (!call.parameters[p]) continue;
    const auto first = samples.squares.begin() + static_cast<int64_t>(p) * pass.images;
    pass.observer->cell_differentiated(parameter_at(*pass.cell, pass.lowered->parameters[p]),
                                       {first, first + pass.images}, samples.deviations[p]);
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
  auto pass = c10::make_intrusive<Pass>();
  pass->lowered = lowered(context.mixture, masked);
  pass->cell = &cell_;
  pass->context = context;
  pass->images = inputs[0].size(0);
  variable_list tensors(inputs.begin(), inputs.end());
  const CellMixture none, &mixture = context.mixture ? *context.mixture : none;
  pass->active = mixture.active;
  for (const at::Tensor& weights : {mixture.ops, mixture.edges})
    tensors.push_back(weights.defined() ? weights : at::empty({0}));
  if (mixture.ops.defined()) {
    pass->ops_sizes = mixture.ops.sizes().vec();
    pass->ops_per_site = mixture.ops.size(1);
    pass->ops_images = mixture.ops.dim() == 3 ? mixture.ops.size(2) : 1;
  }
  pass->per_image = masked || mixture.ops.dim() == 3;
  if (masked) {
    for (int edge = 0; edge < cell_.edge_count(); ++edge) pass->masks.push_back(drop_mask(pass->images, context, edge));
  }
  for (const ParameterAt& parameter : pass->lowered->parameters) tensors.push_back(parameter_at(cell_, parameter));
  const auto requires_grad = [](const at::Tensor& tensor) { return tensor.requires_grad(); };
  pass->keep = at::GradMode::is_enabled() && std::any_of(tensors.begin(), tensors.end(), requires_grad);
  pass->inputs_only =
      std::none_of(tensors.begin() + static_cast<int64_t>(pass->inputs()), tensors.end(), requires_grad);
  if (!cell_.is_training() && pass->lowered->plain.empty()) pass->observer = sample_observer();
  return FusedCellFunction::apply(std::move(pass), at::TensorList(tensors));
}

}  // namespace nascent
