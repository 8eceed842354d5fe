// The whole program. People call it by way of light_main.cc, which answers by itself what needs no LibTorch.
#include <cstring>

#include "nascent/cli/verb.h"
#include "nascent/cluster/ranks.h"
#include "nascent/nn/threads.h"
#include "nascent/program/answers.h"

int main(int argc, char** argv) {
  nascent::correct_blas_kernels(argv);
  nascent::keep_freed_memory();
  // For the build alone.
  if (argc == 3 && std::strcmp(argv[1], "--write-answers") == 0) {
    nascent::write_answers(argv[2]);
    return 0;
  }
  return nascent::cluster::with_ranks([&] { return nascent::run_command_line({argv + 1, argv + argc}); });
}
