// What the machine can do at most: multiply-adds in registers, and bytes to and from memory.
#pragma once

namespace nascent {

// GFLOP/s of independent multiply-adds in the longest vectors that the kernels use.
double fma_peak(int threads);

// GB/s of STREAM's triad, a = b + s * c, over arrays that no cache holds.
double stream_bandwidth(int threads);

}  // namespace nascent
