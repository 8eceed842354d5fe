// A graph in ONNX's own form, opset 13. Compiled only where libonnx is there (NASCENT_HAS_ONNX).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nascent/export/graph.h"
#include "nascent/export/quantise.h"

namespace nascent {

// The bytes of an ONNX model that ONNX's own checker has accepted, shapes included. `quantisation` null: floats.
std::string write_onnx(const Graph& graph, const Quantisation* quantisation,
                       const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace nascent
