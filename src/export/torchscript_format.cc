// The format "torchscript": a module that torch.jit.load reads, in Python or C++.
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "nascent/core/error.h"
#include "nascent/export/export_format.h"
#include "nascent/nn/layer.h"

namespace nascent {
namespace {

constexpr const char* kMetadata = "nascent.json";

// The body of forward(self, x), one line per node; tensors are the module's attributes.
class Script {
 public:
  explicit Script(torch::jit::Module& module) : module_(module) {}

  std::string of(const Graph& graph) {
    std::string text = "def forward(self, v0: Tensor) -> Tensor:\n";
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      text += fmt::format("    v{} = {}\n", i + 1, expression(graph.nodes[i]));
    }
    return text + fmt::format("    return v{}\n", graph.output());
  }

 private:
  std::string attribute(const GraphNode& node, const char* which, const at::Tensor& tensor) {
    if (!tensor.defined()) return "None";
    std::string name = node.name + "_" + which;
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    module_.register_parameter(name, tensor.detach().clone(), /*is_buffer=*/false);
    return "self." + name;
  }

  static std::string pair(int a, int b) { return fmt::format("[{}, {}]", a, b); }

  static std::string pool(const GraphNode& node) {
    const Stage& w = node.window;
    return fmt::format("v{}, {}, {}, {}", node.inputs[0], pair(w.kernel_h, w.kernel_w), pair(w.stride_h, w.stride_w),
                       pair(w.padding_h, w.padding_w));
  }

  std::string expression(const GraphNode& node) {
    const Stage& w = node.window;
    const int x = node.inputs[0];
    switch (node.op) {
      case GraphOp::conv:
        return fmt::format("torch.conv2d(v{}, {}, {}, {}, {}, {}, {})", x, attribute(node, "weight", node.weight),
                           attribute(node, "bias", node.bias), pair(w.stride_h, w.stride_w),
                           pair(w.padding_h, w.padding_w), pair(w.dilation, w.dilation), w.groups);
      case GraphOp::batch_norm:
        return fmt::format("torch.batch_norm(v{}, {}, {}, {}, {}, False, 0., {}, False)", x,
                           attribute(node, "weight", node.weight), attribute(node, "bias", node.bias),
                           attribute(node, "mean", node.mean), attribute(node, "variance", node.variance),
                           kNormEpsilon);
      case GraphOp::relu:
        return fmt::format("torch.relu(v{})", x);
      case GraphOp::max_pool:
        return fmt::format("torch.max_pool2d({})", pool(node));
      case GraphOp::avg_pool:
        return fmt::format("torch.avg_pool2d({}, False, False)", pool(node));
      case GraphOp::pad:
        return fmt::format("torch.constant_pad_nd(v{}, [0, {}, 0, {}], 0)", x, node.padding[1], node.padding[0]);
      case GraphOp::slice:
        return fmt::format("v{}[:, {}:{}, {}:{}, {}:{}]", x, node.first[0], node.last[0], node.first[1], node.last[1],
                           node.first[2], node.last[2]);
      case GraphOp::concat:
        return fmt::format("torch.cat([v{}], 1)", fmt::join(node.inputs, ", v"));
      case GraphOp::add:
        return fmt::format("v{} + v{}", x, node.inputs[1]);
      case GraphOp::global_avg_pool:
        return fmt::format("torch.mean(v{}, [2, 3], True)", x);
      case GraphOp::linear:
        return fmt::format("torch.linear(torch.flatten(v{}, 1), {}, {})", x, attribute(node, "weight", node.weight),
                           attribute(node, "bias", node.bias));
    }
    fail("{} cannot be written as TorchScript.", node.name);
  }

  torch::jit::Module& module_;
};

class TorchscriptFormat : public ExportFormat {
 public:
  std::string write(const Model& model, const FormatRequest& request) const override {
    torch::jit::Module module("__torch__.Network");
    module.define(Script(module).of(make_graph(model, request.fold)));
    module.eval();
    Json metadata = Json::object();
    for (const auto& [key, text] : metadata_of(model)) metadata[key] = text;
    std::ostringstream out;
    module.save(out, {{kMetadata, metadata.dump(2)}});
    return std::move(out).str();
  }

  at::Tensor run(const std::string& bytes, const Model&, const at::Tensor& pixels) const override {
    at::NoGradGuard no_grad;
    std::istringstream in(bytes);
    torch::jit::Module module = torch::jit::load(in, at::kCPU);
    return module.forward({pixels}).toTensor();
  }
};

NASCENT_REGISTER(
    ExportFormat, "torchscript", "a module for torch.jit.load, in Python or C++",
    [] { return std::make_unique<TorchscriptFormat>(); },
    FormatFacts{.extension = ".pt", .reader = "torch.jit.load", .tolerance = 1e-5});

}  // namespace
}  // namespace nascent
