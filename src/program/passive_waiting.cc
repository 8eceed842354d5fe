// Threads that wait sleep instead of spinning, unless OMP_WAIT_POLICY says otherwise. libgomp's default spins at its
// barriers for a thread that the kernel has put aside: beside one busy neighbour a training step then takes nine times
// as long. libgomp reads the variable when it is loaded, so this runs before any shared library is initialised; it is
// part of every executable, because the loader takes such functions from the executable alone.
#include <cstdlib>

namespace {

void wait_passively(int, char**, char**) { setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0); }

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = wait_passively;

}  // namespace
