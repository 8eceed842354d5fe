#include "nascent/kernels/isa.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "nascent/core/error.h"
#include "nascent/kernels/amx_kernels.h"

namespace nascent::kernels {

namespace {

struct Isa {
  const char* name;
  int64_t target;
  bool (*has_more)();  // what it needs besides the target
};

constexpr int64_t kScalar = HWY_SCALAR | HWY_EMU128;  // which of the two there is depends on the compiler's baseline
bool has_bf16() { return __builtin_cpu_supports("avx512bf16"); }
bool has_bf16_and_amx() { return has_bf16() && has_amx(); }
bool needs_nothing_more() { return true; }

constexpr Isa kIsas[] = {{"amx", HWY_AVX3, has_bf16_and_amx},
                         {"avx512bf16", HWY_AVX3, has_bf16},
                         {"avx512", HWY_AVX3, needs_nothing_more},
                         {"avx2", HWY_AVX2, needs_nothing_more},
                         {"scalar", kScalar, needs_nothing_more}};

std::string current;

const Isa& named(const std::string& name) {
  return *std::find_if(std::begin(kIsas), std::end(kIsas), [&](const Isa& isa) { return name == isa.name; });
}

}  // namespace

std::vector<std::string> supported_isas() {
  static const int64_t targets = hwy::SupportedTargets();
  std::vector<std::string> names;
  for (const Isa& isa : kIsas) {
    if (((targets & isa.target) || isa.target == kScalar) && isa.has_more()) names.emplace_back(isa.name);
  }
  return names;
}

void use_isa(const std::string& name) {
  const std::vector<std::string> names = supported_isas();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    fail("There is no instruction set '{}' on this CPU. NASCENT_ISA can be {}.", name, fmt::join(names, ", "));
  }
  current = name;
  hwy::SetSupportedTargetsForTest(named(name).target | kScalar);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

const std::string& isa() {
  static std::once_flag settled;
  std::call_once(settled, [] {
    if (!current.empty()) return;
    const char* forced = std::getenv("NASCENT_ISA");
    use_isa(forced && *forced ? forced : supported_isas().front());
  });
  return current;
}

}  // namespace nascent::kernels
