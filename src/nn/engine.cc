#include "nascent/nn/engine.h"

#include <atomic>

#include "nascent/core/error.h"

namespace nascent {

namespace {

std::atomic<Engine> current = Engine::fused;

}  // namespace

Engine engine() { return current; }
void use_engine(Engine engine) { current = engine; }

Engine engine_named(const std::string& name) {
  if (name == "fused") return Engine::fused;
  if (name == "reference") return Engine::reference;
  fail("There is no engine '{}': it can be 'fused' or 'reference'.", name);
}

}  // namespace nascent
