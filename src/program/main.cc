#include "nascent/cli/verb.h"
#include "nascent/nn/threads.h"

int main(int argc, char** argv) {
  nascent::correct_blas_kernels(argv);
  nascent::keep_freed_memory();
  return nascent::run_command_line({argv + 1, argv + argc});
}
