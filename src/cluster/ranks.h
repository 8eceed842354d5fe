// The processes of one run, as a launcher (mpirun, srun) starts them. Rank 0 does what the command line asks for and
// owns the run's folder, its events and the terminal; the others help it (cluster/farm.h). Started plainly, or built
// without MPI, there is one rank, and nothing here costs anything.
//
//   return cluster::with_ranks([&] { return run_command_line(words); });   // main()
//   cluster::agree({{"version", version()}, ...});                         // every rank
//   if (cluster::rank() > 0) return cluster::serve();                      // helps until rank 0 has done
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent::cluster {

int rank();
int size();
// Threads for a rank that was not told how many: one for each core that it may run on, of those that other ranks may
// run on too its part.
int usual_threads();
// The ranks on this machine, this one included.
std::vector<pid_t> processes_here();

// Runs the program as one of the ranks, and returns the exit code that all of them agree on: the first error's, 130
// where one was interrupted, or 0. An error of another rank than 0 is shown by rank 0; what they say besides is in
// their logs. Ctrl-C, SIGTERM or SIGUSR1 on any rank is one on all.
int with_ranks(const std::function<int()>& program);

// Every rank calls it, with what must be the same on all, {name: value}. On rank 0 an Error says who differs in what.
void agree(const Json& mine);
// An Error where there are more ranks than pieces of work.
void require_work(int64_t pieces, const std::string& what);
// What rank 0 asks of the others, until it is done.
void serve();

}  // namespace nascent::cluster
