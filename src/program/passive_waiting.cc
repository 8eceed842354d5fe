// Threads that wait sleep instead of spinning, unless the environment says otherwise. libgomp's default spins at its
// barriers for a thread that the kernel has put aside: beside one busy neighbour a training step then takes nine times
// as long. OpenBLAS with threads of its own (libopenblas0-pthread) has them look for work for some milliseconds after
// every product. Both read these variables when they are loaded, so this runs before any shared library is initialised;
// it is part of every executable, because the loader takes such functions from the executable alone.
#include <cstdlib>

namespace {

void wait_passively(int, char**, char**) {
  setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0);
  setenv("OPENBLAS_THREAD_TIMEOUT", "4", /*replace=*/0);  // two to the power of that in cycles; the least it accepts
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = wait_passively;

}  // namespace
