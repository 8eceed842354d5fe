#include "cli/verb.h"
#include "nn/threads.h"

int main(int argc, char** argv) {
  nascent::correct_blas_kernels(argv);
  nascent::keep_freed_memory();
  return nascent::run_command_line({argv + 1, argv + argc});
}
