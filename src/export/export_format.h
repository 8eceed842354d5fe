// A file format that trained networks are handed over in. One file per format, registered at its foot.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/export/graph.h"
#include "nascent/export/quantise.h"
#include "nascent/train/model.h"

namespace nascent {

struct FormatRequest {
  bool fold = true;                            // batch norms into convolutions, where the format has a graph
  const Quantisation* quantisation = nullptr;  // int8; null: floats
};

struct FormatFacts {
  std::string extension{};
  std::string reader{};   // who runs the file for a check
  double tolerance = 0;   // largest difference of logits that a check accepts
  bool has_int8 = false;  // whether FormatRequest::quantisation means something
};

class ExportFormat {
 public:
  static std::string kind() { return "export format"; }
  using Registry = nascent::Registry<ExportFormat, std::unique_ptr<ExportFormat>(), FormatFacts>;

  virtual ~ExportFormat() = default;
  // The file. The same model and request give the same bytes.
  virtual std::string write(const Model& model, const FormatRequest& request) const = 0;
  // Logits of pixels in [0, 1], computed from the file alone (of safetensors, which hold no graph: from the model's
  // plan and the file's weights).
  virtual at::Tensor run(const std::string& bytes, const Model& model, const at::Tensor& pixels) const = 0;
};

// What every format carries beside the weights: class names, genotype, figures, how pictures are prepared. Texts, and
// JSON where there is structure.
std::vector<std::pair<std::string, std::string>> metadata_of(const Model& model);

// The optional libraries that this program was built with, for `nascent --version`: "ONNX 1.12.0, OpenCV 4.6.0".
std::string export_libraries();

}  // namespace nascent
