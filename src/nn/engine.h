// Which way cells are computed: by the fused kernels, or by LibTorch's plain operations, their reference.
#pragma once

#include <string>

namespace nascent {

enum class Engine { fused, reference };

// The engine of this process. The fused one still leaves to the reference what it cannot do: other devices and types
// than float on the CPU, operations that have no fused form, and second derivatives.
Engine engine();
void use_engine(Engine engine);
Engine engine_named(const std::string& name);  // "fused" or "reference"

// Uses another engine while it lives.
class EngineScope {
 public:
  explicit EngineScope(Engine other) : before_(engine()) { use_engine(other); }
  ~EngineScope() { use_engine(before_); }
  EngineScope(const EngineScope&) = delete;

 private:
  Engine before_;
};

}  // namespace nascent
