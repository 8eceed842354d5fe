// Which way cells are computed: by the fused kernels, or by LibTorch's plain operations, their reference; and what the
// kernels store values in.
#pragma once

#include <string>

#include "nascent/kernels/numbers.h"

namespace nascent {

using kernels::Precision;

enum class Engine { fused, reference };

// The engine of this process. The fused one still leaves to the reference what it cannot do: other devices and types
// than float on the CPU, operations that have no fused form, and second derivatives.
Engine engine();
void use_engine(Engine engine);
Engine engine_named(const std::string& name);  // "fused" or "reference"

// What the fused engine stores the values of cells and all that it keeps of them in; sums, statistics, weights and
// their gradients are floats in either case. LibTorch's operations compute in float.
Precision precision();
void use_precision(Precision precision);
Precision precision_named(const std::string& name);  // "float" or "bf16"; "auto" is float

// Uses another engine while it lives.
class EngineScope {
 public:
  explicit EngineScope(Engine other) : before_(engine()) { use_engine(other); }
  ~EngineScope() { use_engine(before_); }
  EngineScope(const EngineScope&) = delete;

 private:
  Engine before_;
};

// Uses another precision while it lives.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision other) : before_(precision()) { use_precision(other); }
  ~PrecisionScope() { use_precision(before_); }
  PrecisionScope(const PrecisionScope&) = delete;

 private:
  Precision before_;
};

}  // namespace nascent
