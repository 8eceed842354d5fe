// Which way cells are computed: by the fused kernels, by the same with less memory (what is cheap to compute is made
// again by the backward pass instead of kept), or by LibTorch's plain operations, their reference.
#pragma once

#include <string>

namespace nascent {

enum class Engine { fused, lean, reference };

// The engine of this process. The fused ones still leave to the reference what it cannot do: other devices and types
// than float on the CPU, cells with an operation that has no fused form, and second derivatives.
Engine engine();
void use_engine(Engine engine);
Engine engine_named(const std::string& name);  // "fused", "lean" or "reference"
inline bool is_fused(Engine engine) { return engine != Engine::reference; }

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
