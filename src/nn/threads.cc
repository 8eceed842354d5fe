#include "nascent/nn/threads.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "nascent/core/cores.h"
#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/kernels/isa.h"

namespace nascent {

namespace {

// A function of OpenBLAS, null where another BLAS is in use.
template <class Function>
Function* openblas(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string blas_core() {
  auto* core = openblas<char*()>("openblas_get_corename");
  return core ? core() : "";
}

std::string describe_blas() {
  auto* config = openblas<char*()>("openblas_get_config");
  if (!config) return "a BLAS other than OpenBLAS";
  const std::vector<std::string> words = split(config(), ' ');
  const std::string version = words.size() > 1 ? words[1] : "?";
  // With OpenMP it shares the threads of LibTorch; the engine has its own.
  auto* parallel = openblas<int()>("openblas_get_parallel");
  const std::string threads = !parallel ? "" : parallel() == 2 ? ", OpenMP" : parallel() == 1 ? ", own threads" : "";
  return fmt::format("OpenBLAS {} ({}{})", version, blas_core(), threads);
}

std::string instruction_set() {
  const std::string key = "CPU capability usage: ", config = at::show_config();
  const size_t at = config.find(key);
  if (at == std::string::npos) return "unknown instruction set";
  const size_t begin = at + key.size();
  return config.substr(begin, config.find('\n', begin) - begin);
}

}  // namespace

void use_threads(int n) {
  if (n < 0) fail("The number of threads is {}, but must be at least 1, or 0 for one per core.", n);
  if (n == 0) n = count(usable_cores());
  at::set_num_threads(n);
  if (auto* set = openblas<void(int)>("openblas_set_num_threads")) set(n);
}

void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);  // also what is larger than any threshold that glibc accepts
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

std::string describe_arithmetic() {
  return fmt::format("LibTorch {}, {}, {}, kernels for {}", TORCH_VERSION, instruction_set(), describe_blas(),
                     kernels::isa());
}

std::string describe_engine() {
  const int threads = at::get_num_threads();
  return fmt::format("{}, {} thread{}", describe_arithmetic(), threads, threads == 1 ? "" : "s");
}

std::string better_blas_core(std::string_view detected, bool avx2, bool avx512) {
  constexpr std::array<std::string_view, 6> kOld = {"Prescott",  "Katmai", "Coppermine",
                                                    "Northwood", "Core2",  "Generic"};
  if (!avx2 || std::find(kOld.begin(), kOld.end(), detected) == kOld.end()) return "";
  return avx512 ? "SkylakeX" : "Haswell";
}

void correct_blas_kernels(char** argv) {
#if defined(__x86_64__)
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (std::getenv(kVariable)) return;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const std::string core = better_blas_core(blas_core(), avx2, avx512);
  if (core.empty()) return;
  setenv(kVariable, core.c_str(), 1);
  execv("/proc/self/exe", argv);  // returns only where it failed: then the slower kernels must do
#endif
}

}  // namespace nascent
