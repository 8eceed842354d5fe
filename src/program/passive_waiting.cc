// Threads that wait sleep instead of spinning, unless the environment says otherwise. libgomp's default spins at its
// barriers for a thread that the kernel has put aside: beside one busy neighbour a training step then takes nine times
// as long. OpenBLAS with threads of its own (libopenblas0-pthread) has them look for work for some milliseconds after
// every product. Both read their variables when they are initialised, before main(), and a variable that is set earlier
// than that is lost again: the C library takes the environment as the kernel gave it. So the program starts itself anew
// with the variables set, before any shared library is initialised. This is part of every executable, because the
// loader takes such functions from the executable alone.
#include <unistd.h>

#include <cstring>
#include <vector>

namespace {

char policy[] = "OMP_WAIT_POLICY=passive";
char timeout[] = "OPENBLAS_THREAD_TIMEOUT=4";  // two to the power of that in cycles; the least it accepts

bool sets(const char* variable, const char* same) {
  return !std::strncmp(variable, same, std::strchr(same, '=') - same + 1);
}

void wait_passively(int, char** argv, char** given) {
  std::vector<char*> environment = {policy};
  bool timeout_given = false;
  for (; *given; ++given) {
    if (sets(*given, policy)) return;
    timeout_given = timeout_given || sets(*given, timeout);
    environment.push_back(*given);
  }
  if (!timeout_given) environment.push_back(timeout);
  environment.push_back(nullptr);
  execve("/proc/self/exe", argv, environment.data());  // returns only where it failed: then threads spin
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = wait_passively;

}  // namespace
