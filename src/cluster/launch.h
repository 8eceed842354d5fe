// Whether a launcher (mpirun, srun) started this process as one of several: read from its environment, without MPI.
#pragma once

#include <cstdlib>

namespace nascent::cluster {

struct Launch {
  int rank = 0, size = 1;

  bool several() const { return size > 1; }
};

// A batch script of Slurm, too, knows the number of tasks of its job (SLURM_NTASKS); only what srun starts is a task.
inline Launch launch() {
  const auto number = [](const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr || *text == '\0' ? otherwise : std::atoi(text);
  };
  struct Names {
    const char *rank, *size;
  };
  constexpr Names kLaunchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI's mpirun
      {"PMI_RANK", "PMI_SIZE"},                          // Hydra, srun --mpi=pmi2
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},          // srun
  };
  for (const Names& names : kLaunchers) {
    if (const int size = number(names.size, 0); size > 0) return {number(names.rank, 0), size};
  }
  return {};
}

}  // namespace nascent::cluster
