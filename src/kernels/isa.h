// Which instruction set the kernels use: the best that the CPU has, or the one that NASCENT_ISA names.
#pragma once

#include <string>
#include <vector>

namespace nascent::kernels {

// "amx" (AVX-512 with instructions for bf16 and for tiles of it), "avx512bf16" (without tiles), "avx512", "avx2" or
// "scalar", best first: those that this CPU can run. The first three differ in bf16 only.
std::vector<std::string> supported_isas();

// The one in use. Read from NASCENT_ISA at the first call; an Error where that names none of supported_isas().
const std::string& isa();

// Changes it, for tests and benchmarks; not while kernels run.
void use_isa(const std::string& name);

}  // namespace nascent::kernels
