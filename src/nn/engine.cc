#include "nascent/nn/engine.h"

#include <atomic>

#include "nascent/core/error.h"

namespace nascent {

namespace {

std::atomic<Engine> current = Engine::fused;
std::atomic<Precision> current_precision = Precision::single;

}  // namespace

Engine engine() { return current; }
void use_engine(Engine engine) { current = engine; }

Engine engine_named(const std::string& name) {
  if (name == "fused") return Engine::fused;
  if (name == "reference") return Engine::reference;
  fail("There is no engine '{}': it can be 'fused' or 'reference'.", name);
}

Precision precision() { return current_precision; }
void use_precision(Precision precision) { current_precision = precision; }

Precision precision_named(const std::string& name) {
  if (name == "float" || name == "auto") return Precision::single;
  if (name == "bf16") return Precision::bf16;
  fail("There is no precision '{}': it can be 'float' or 'bf16', or 'auto', which is float.", name);
}

}  // namespace nascent
