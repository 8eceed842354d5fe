#include "nascent/cluster/ranks.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "nascent/cluster/launch.h"
#include "nascent/cluster/member.h"
#include "nascent/core/cores.h"
#include "nascent/core/error.h"
#include "nascent/core/last_error.h"
#include "nascent/core/log.h"

namespace nascent::cluster {

int rank() { return Member::instance() == nullptr ? 0 : Member::instance()->rank(); }
int size() { return Member::instance() == nullptr ? 1 : Member::instance()->size(); }

int usual_threads() {
  return Member::instance() == nullptr ? count(usable_cores()) : Member::instance()->neighbours().cores;
}

std::vector<pid_t> processes_here() {
  return Member::instance() == nullptr ? std::vector{::getpid()} : Member::instance()->neighbours().processes;
}

namespace {

std::unique_ptr<Transport> join_ranks(const Launch& launch) {
  if (mpi_would_abort()) {
    fail(
        "srun started {} processes, but not in a way in which this nascent's MPI finds them. Use srun --mpi=pmix "
        "('srun "
        "--mpi=list' shows whether this Slurm knows it), or mpirun within the allocation.",
        launch.size);
  }
  auto transport = mpi_transport();
  if (transport == nullptr) {
    fail(
        "This process was started as one of {}, but this nascent was built without MPI and works in one. Start it "
        "without the launcher, or build it with libopenmpi-dev.",
        launch.size);
  }
  if (transport->size() != launch.size) {
    fail(
        "The launcher started {} processes, but MPI knows of {}: it belongs to another MPI than this nascent "
        "('nascent --version' says which), or does not speak PMIx. Use the mpirun of that MPI, or srun --mpi=pmix.",
        launch.size, transport->size());
  }
  return transport;
}

}  // namespace

int with_ranks(const std::function<int()>& program) {
  const Launch launch = cluster::launch();
  if (!launch.several()) return program();
  std::unique_ptr<Transport> transport;
  try {
    transport = join_ranks(launch);
  } catch (const Error& error) {
    if (launch.rank == 0) {
      log::error("{}", error.what());
    } else {
      // Launchers end all ranks when one fails: rank 0 is to speak first.
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    return 2;
  }
  Member member(std::move(transport));
  if (member.rank() != 0) hold_back_output();
  const int code = program();
  return member.leave({code, host_name(), log::last_error()});
}

namespace {

// What differs, in words; "" where nothing does.
std::string difference(const Json& mine, const Json& theirs) {
  const Json here = mine.flatten(), there = theirs.flatten();
  std::set<std::string> keys;
  for (const Json* side : {&here, &there}) {
    for (const auto& [key, value] : side->items()) keys.insert(key);
  }
  const auto text = [](const Json& side, const std::string& key) {
    return side.contains(key) ? side.at(key).dump() : std::string("not there");
  };
  for (const std::string& key : keys) {
    const std::string a = text(here, key), b = text(there, key);
    if (a == b) continue;
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    return fmt::format("{} is {} there and {} on rank 0", name, b, a);
  }
  return "";
}

}  // namespace

void require_work(int64_t pieces, const std::string& what) {
  if (pieces >= size()) return;
  fail("There are {} ranks but only {} {}: some would have nothing to do. Start at most {}.", size(), pieces, what,
       std::max<int64_t>(1, pieces));
}

void agree(const Json& mine) {
  Member* member = Member::instance();
  if (member == nullptr) return;
  if (member->rank() > 0) return member->send(0, kHello, Json{{"host", host_name()}, {"is", mine}}.dump());
  for (int others = member->size() - 1; others > 0; --others) {
    const Message hello = member->wait({kHello});
    const Json theirs = Json::parse(hello.bytes);
    const std::string found = difference(mine, theirs.at("is"));
    if (found.empty()) continue;
    fail("The ranks disagree. {}. Start all with the same program, command and files, on machines that compute alike.",
         told_by(hello.from, theirs.at("host").get<std::string>(), found));
  }
}

}  // namespace nascent::cluster
