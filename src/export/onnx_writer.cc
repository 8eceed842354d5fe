#include "nascent/export/onnx_writer.h"

#ifdef NASCENT_HAS_ONNX

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <set>

#include "nascent/core/error.h"
#include "nascent/core/version.h"
#include "nascent/nn/layer.h"

namespace nascent {
namespace {

constexpr int kIrVersion = 7, kOpset = 13;
constexpr const char *kInput = "pixels", *kOutput = "logits", *kBatch = "N";

using Ints = std::vector<int64_t>;

class OnnxWriter {
 public:
  OnnxWriter(const Graph& graph, const Quantisation* quantisation) : graph_(graph), quantisation_(quantisation) {
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("nascent");
    model_.set_producer_version(version());
    auto* opset = model_.add_opset_import();
    opset->set_domain("");
    opset->set_version(kOpset);
    out_ = model_.mutable_graph();
    out_->set_name("network");
    declare(out_->add_input(), kInput, {graph.input.channels, graph.input.height, graph.input.width});
    declare(out_->add_output(), kOutput, {graph.classes});
  }

  onnx::ModelProto write() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const bool last = i + 1 == graph_.nodes.size();
      names_.push_back(last ? kOutput : graph_.nodes[i].name);
      add(graph_.nodes[i], names_.back());
    }
    return std::move(model_);
  }

 private:
  static void declare(onnx::ValueInfoProto* value, const char* name, const Ints& sides) {
    value->set_name(name);
    auto* type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_param(kBatch);
    for (const int64_t side : sides) type->mutable_shape()->add_dim()->set_dim_value(side);
  }

  const std::string& name_of(int value) const { return names_[value]; }

  onnx::NodeProto* node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto* added = out_->add_node();
    added->set_op_type(op);
    if (!name.empty()) added->set_name(name);
    for (const auto& input : inputs) added->add_input(input);
    added->add_output(output);
    return added;
  }

  static void set(onnx::NodeProto* node, const char* name, int64_t value) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
  }

  static void set(onnx::NodeProto* node, const char* name, const Ints& values) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
  }

  static void set_float(onnx::NodeProto* node, const char* name, double value) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(static_cast<float>(value));
  }

  static onnx::TensorProto::DataType type_of(at::ScalarType type) {
    switch (type) {
      case at::kFloat:
        return onnx::TensorProto::FLOAT;
      case at::kLong:
        return onnx::TensorProto::INT64;
      case at::kInt:
        return onnx::TensorProto::INT32;
      case at::kChar:
        return onnx::TensorProto::INT8;
      case at::kByte:
        return onnx::TensorProto::UINT8;
      default:
        fail("A tensor of type {} cannot be written to an ONNX file.", at::toString(type));
    }
  }

  const std::string& constant(const std::string& name, const at::Tensor& tensor) {
    const auto [known, added] = constants_.insert(name);
    if (!added) return *known;
    const at::Tensor dense = tensor.detach().contiguous();
    onnx::TensorProto* out = out_->add_initializer();
    out->set_name(name);
    out->set_data_type(type_of(dense.scalar_type()));
    for (const int64_t side : dense.sizes()) out->add_dims(side);
    out->set_raw_data(dense.data_ptr(), dense.nbytes());
    return *known;
  }

  const std::string& constant(const std::string& name, const Ints& values) {
    return constant(name, at::tensor(values, at::kLong));
  }

  void set_window(onnx::NodeProto* node, const Stage& w) {
    set(node, "kernel_shape", {w.kernel_h, w.kernel_w});
    set(node, "pads", {w.padding_h, w.padding_w, w.padding_h, w.padding_w});
    set(node, "strides", {w.stride_h, w.stride_w});
  }

  void add(const GraphNode& n, const std::string& output) {
    const std::string& x = name_of(n.inputs[0]);
    switch (n.op) {
      case GraphOp::conv:
        return add_conv(n, output);
      case GraphOp::linear:
        return add_linear(n, output);
      case GraphOp::batch_norm:
        return set_float(node("BatchNormalization", n.name,
                              {x, constant(n.name + ".weight", n.weight), constant(n.name + ".bias", n.bias),
                               constant(n.name + ".mean", n.mean), constant(n.name + ".variance", n.variance)},
                              output),
                         "epsilon", kNormEpsilon);
      case GraphOp::relu:
        node("Relu", n.name, {x}, output);
        return;
      case GraphOp::max_pool:
        return set_window(node("MaxPool", n.name, {x}, output), n.window);
      case GraphOp::avg_pool: {
        onnx::NodeProto* pool = node("AveragePool", n.name, {x}, output);
        set_window(pool, n.window);
        return set(pool, "count_include_pad", 0);
      }
      case GraphOp::pad:
        node("Pad", n.name, {x, constant(n.name + ".pads", {0, 0, 0, 0, 0, 0, n.padding[0], n.padding[1]})}, output);
        return;
      case GraphOp::slice:
        return add_slice(n, output);
      case GraphOp::concat: {
        std::vector<std::string> inputs;
        for (const int input : n.inputs) inputs.push_back(name_of(input));
        return set(node("Concat", n.name, inputs, output), "axis", 1);
      }
      case GraphOp::add:
        node("Add", n.name, {x, name_of(n.inputs[1])}, output);
        return;
      case GraphOp::global_avg_pool:
        node("GlobalAveragePool", n.name, {x}, output);
        return;
    }
  }

  void add_slice(const GraphNode& n, const std::string& output) {
    const Shape in = shape_of(graph_, n.inputs[0]);
    const std::array<int64_t, 3> sides = {in.channels, in.height, in.width};
    Ints first, last, axes;
    for (int i = 0; i < 3; ++i) {
      if (n.first[i] == 0 && n.last[i] == sides[i]) continue;
      first.push_back(n.first[i]);
      last.push_back(n.last[i]);
      axes.push_back(i + 1);
    }
    node("Slice", n.name,
         {name_of(n.inputs[0]), constant(n.name + ".starts", first), constant(n.name + ".ends", last),
          constant(n.name + ".axes", axes)},
         output);
  }

  // What a layer reads: the value, its weights and, where there is one, its bias; by way of int8 where asked for.
  std::vector<std::string> operands(const GraphNode& n, const std::string& x) {
    if (quantisation_ && is_quantised(n)) return quantised_operands(n, x);
    std::vector<std::string> names = {x, constant(n.name + ".weight", n.weight)};
    if (n.bias.defined()) names.push_back(constant(n.name + ".bias", n.bias));
    return names;
  }

  void add_conv(const GraphNode& n, const std::string& output) {
    const std::vector<std::string> inputs = operands(n, name_of(n.inputs[0]));
    onnx::NodeProto* conv = node("Conv", n.name, inputs, output);
    set(conv, "dilations", {n.window.dilation, n.window.dilation});
    set(conv, "group", n.window.groups);
    set_window(conv, n.window);
  }

  void add_linear(const GraphNode& n, const std::string& output) {
    const std::string flat = n.name + ".flat";
    std::vector<std::string> inputs = operands(n, name_of(n.inputs[0]));
    set(node("Flatten", flat, {inputs[0]}, flat), "axis", 1);
    inputs[0] = flat;
    set(node("Gemm", n.name, inputs, output), "transB", 1);
  }

  // The nodes that quantisation adds have no names, and their values short ones: of a network of many small layers,
  // names would outweigh the bytes that eight bits save.
  std::vector<std::string> quantised_operands(const GraphNode& n, const std::string& x) {
    const ActivationScale& by = quantisation_->at(n.inputs[0]);
    const auto [stored, scale] = quantise_weight(n.weight);
    const size_t layer = names_.size();
    const std::string& zero =
        constant(fmt::format("zero{}", scale.size(0)), at::full({scale.size(0)}, kWeightZero, at::kByte));
    std::vector<std::string> names = {quantised_value(n.inputs[0], x, by),
                                      dequantised(n.name + ".weight", stored, scale, fmt::format("w{}", layer), zero)};
    if (n.bias.defined()) {
      // 32 bits at the scale of the sums it is added to, as int8 kernels want it.
      const at::Tensor steps = scale * by.scale;
      const at::Tensor bias = (n.bias.to(at::kDouble) / steps.to(at::kDouble)).round().clamp(-2147483647, 2147483647);
      names.push_back(dequantised(n.name + ".bias", bias.to(at::kInt), steps, fmt::format("b{}", layer)));
    }
    return names;
  }

  // One scale for each channel of the first axis; `zero`: what stands for zero, where 0 does not. `real` names the
  // result.
  std::string dequantised(const std::string& name, const at::Tensor& stored, const at::Tensor& scale,
                          const std::string& real, const std::string& zero = "") {
    std::vector<std::string> inputs = {constant(name, stored), constant(real + ".scale", scale)};
    if (!zero.empty()) inputs.push_back(zero);
    set(node("DequantizeLinear", "", inputs, real), "axis", 0);
    return real;
  }

  // One pair of nodes for all the layers that read a value.
  std::string quantised_value(int value, const std::string& x, const ActivationScale& by) {
    const std::string real = fmt::format("r{}", value);
    if (!quantised_.insert(value).second) return real;
    const std::string stored = fmt::format("q{}", value);
    const std::string& scale = constant(stored + ".scale", at::full({}, by.scale, at::kFloat));
    const std::string& zero = constant(stored + ".zero", at::full({}, by.zero, at::kByte));
    node("QuantizeLinear", "", {x, scale, zero}, stored);
    node("DequantizeLinear", "", {stored, scale, zero}, real);
    return real;
  }

  const Graph& graph_;
  const Quantisation* quantisation_;
  onnx::ModelProto model_;
  onnx::GraphProto* out_ = nullptr;
  std::vector<std::string> names_ = {kInput};  // of values
  std::set<std::string> constants_;
  std::set<int> quantised_;
};

}  // namespace

std::string write_onnx(const Graph& graph, const Quantisation* quantisation,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  onnx::ModelProto model = OnnxWriter(graph, quantisation).write();
  for (const auto& [key, text] : metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(text);
  }
  try {
    onnx::checker::check_model(model);
    onnx::ModelProto inferred = model;
    const onnx::ShapeInferenceOptions strict(/*check_type=*/true, /*strict_mode=*/1, /*data_prop=*/true);
    onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), strict);
  } catch (const std::exception& error) {
    fail("ONNX's checker refuses the file that was made, which is a fault of this program; please report it: {}",
         error.what());
  }
  return model.SerializeAsString();
}

}  // namespace nascent

#endif
