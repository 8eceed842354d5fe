// What ranks need of MPI, and no more: messages that arrive in order, and one shared counter. All calls come from one
// thread at a time, and none of them waits for another rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "nascent/cluster/neighbours.h"

namespace nascent::cluster {

struct Message {
  int from = 0, kind = 0;  // kinds are positive
  std::string bytes{};
};

class Transport {
 public:
  virtual ~Transport() = default;  // leaves; called by all ranks at the end
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Neighbours neighbours() const { return {}; }  // this rank is alone on its machine
  virtual void send(int to, int kind, std::string bytes) = 0;
  // What has arrived, in the order in which each rank sent it.
  virtual std::optional<Message> receive() = 0;
  // Adds to the counter that lives with rank 0, without its help; `then` is called by progress() with the value before.
  virtual void fetch_and_add(int64_t add, std::function<void(int64_t)> then) = 0;
  // Gets on with what is under way; true while something is.
  virtual bool progress() = 0;
};

// By MPI, as one of the ranks that the launcher started. Null where the program was built without. Longer messages than
// `most` bytes travel in parts: MPI counts in int.
std::unique_ptr<Transport> mpi_transport(size_t most = size_t{1} << 30);
// Whether this MPI would end the process instead of saying that it does not know the launcher.
bool mpi_would_abort();

}  // namespace nascent::cluster
