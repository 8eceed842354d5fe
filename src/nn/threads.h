// The engine's threads, memory and instruction sets: LibTorch starts with one thread, and BLAS with its own idea of the
// CPU.
#pragma once

#include <string>
#include <string_view>

namespace nascent {

// Threads for LibTorch and BLAS; 0: one per core. Results are reproducible for a fixed number.
void use_threads(int n);

// Makes malloc keep what tensors free instead of returning it to the kernel and asking for zeroed pages anew: 10 to 20
// % of a supernet step. To be called once, early in main().
void keep_freed_memory();

// "LibTorch 1.13.0, AVX2, OpenBLAS 0.3.21 (Zen, OpenMP), kernels for avx2": where it is the same, results are, bit by
// bit, for the same number of threads.
std::string describe_arithmetic();
// The same with the number of threads: "..., 2 threads".
std::string describe_engine();

// OpenBLAS picks its kernels while the program loads, and takes CPUs that it does not know for very old ones (on such a
// machine: a fifth of the speed). Then this sets OPENBLAS_CORETYPE and starts the program anew; otherwise it returns.
// To be called first in main(), with main()'s argv.
void correct_blas_kernels(char** argv);

// The core type that OpenBLAS should use instead of `detected`, or "" where that is right.
std::string better_blas_core(std::string_view detected, bool avx2, bool avx512);

}  // namespace nascent
