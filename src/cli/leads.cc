#include "nascent/cli/leads.h"

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/core/version.h"
#include "nascent/nn/threads.h"

namespace nascent {

bool leads(const Verb& verb, const Invocation& invocation) {
  if (cluster::size() == 1) return true;
  if (!verb.spreads()) {
    fail("nascent {} works in one process, but was started in {}. Start it without mpirun or srun.", invocation.verb,
         cluster::size());
  }
  cluster::agree({{"version", version()},
                  {"arithmetic", describe_arithmetic()},
                  {"verb", invocation.verb},
                  {"arguments", invocation.arguments},
                  {"resume", invocation.resume},
                  {"options", invocation.options->to_json()}});
  if (cluster::rank() == 0) return true;
  cluster::serve();
  return false;
}

}  // namespace nascent
