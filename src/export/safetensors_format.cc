// The format "safetensors": the weights under their own names, byte by byte.
#include "nascent/core/error.h"
#include "nascent/export/export_format.h"
#include "nascent/export/pixels.h"
#include "nascent/export/safetensors.h"
#include "nascent/train/weights.h"

namespace nascent {
namespace {

class SafetensorsFormat : public ExportFormat {
 public:
  std::string write(const Model& model, const FormatRequest&) const override {
    Safetensors contents;
    for (const auto& [name, tensor] : weights_of(*model.network)) contents.tensors[name] = tensor;
    for (const auto& [key, text] : metadata_of(model)) contents.metadata[key] = text;
    return write_safetensors(contents);
  }

  at::Tensor run(const std::string& bytes, const Model& model, const at::Tensor& pixels) const override {
    const Safetensors contents = read_safetensors(bytes, "The safetensors file");
    Model reloaded = model;
    reloaded.network = std::make_shared<Network>(model.network->plan(), /*seed=*/0);
    State state;
    for (const auto& [name, tensor] : contents.tensors) state.put(name, tensor);
    load_weights(weights_of(*reloaded.network), state, "");
    return logits_of(reloaded, pixels);
  }
};

NASCENT_REGISTER(
    ExportFormat, "safetensors", "the weights alone, under their own names",
    [] { return std::make_unique<SafetensorsFormat>(); },
    FormatFacts{.extension = ".safetensors", .reader = "a network built from the file's weights"});

}  // namespace
}  // namespace nascent
