#include "nascent/cluster/transport.h"

#ifndef NASCENT_HAS_MPI

namespace nascent::cluster {
std::unique_ptr<Transport> mpi_transport(size_t) { return nullptr; }
bool mpi_would_abort() { return false; }
}  // namespace nascent::cluster

#else

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace nascent::cluster {
namespace {

// The kind of a message's parts but the last, which has the message's own.
constexpr int kPart = 0;

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(size_t most) : most_(most) {
    int provided = 0;
    // One thread at a time calls MPI, but not always the same.
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_dup(MPI_COMM_WORLD, &ranks_);
    MPI_Comm_rank(ranks_, &rank_);
    MPI_Comm_size(ranks_, &size_);
    const MPI_Aint bytes = rank_ == 0 ? sizeof(int64_t) : 0;
    MPI_Win_allocate(bytes, sizeof(int64_t), MPI_INFO_NULL, ranks_, &counter_, &window_);
    if (rank_ == 0) *counter_ = 0;
    MPI_Barrier(ranks_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    meet_neighbours();
  }

  ~MpiTransport() override {
    while (progress()) continue;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    MPI_Comm_free(&ranks_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Neighbours neighbours() const override { return neighbours_; }

  void send(int to, int kind, std::string bytes) override {
    const auto whole = std::make_shared<const std::string>(std::move(bytes));
    size_t begin = 0, count = 0;
    do {
      count = std::min(most_, whole->size() - begin);
      const bool is_last = begin + count == whole->size();
      Sending& sending = sending_.emplace_back(Sending{whole, MPI_REQUEST_NULL});
      MPI_Isend(whole->data() + begin, static_cast<int>(count), MPI_BYTE, to, is_last ? kind : kPart, ranks_,
                &sending.request);
      begin += count;
    } while (begin < whole->size());
  }

  std::optional<Message> receive() override {
    while (auto message = receive_part()) {
      std::string& begun = begun_[message->from];
      if (!begun.empty() || message->kind == kPart) begun += message->bytes;
      if (message->kind == kPart) continue;
      if (!begun.empty()) message->bytes = std::exchange(begun, {});
      return message;
    }
    return std::nullopt;
  }

  void fetch_and_add(int64_t add, std::function<void(int64_t)> then) override {
    Fetching& fetching = fetching_.emplace_back(Fetching{add, 0, MPI_REQUEST_NULL, std::move(then)});
    MPI_Rget_accumulate(&fetching.add, 1, MPI_INT64_T, &fetching.before, 1, MPI_INT64_T, /*target_rank=*/0, 0, 1,
                        MPI_INT64_T, MPI_SUM, window_, &fetching.request);
  }

  bool progress() override {
    sending_.remove_if([](Sending& sending) { return done(sending.request); });
    for (auto it = fetching_.begin(); it != fetching_.end();) {
      if (!done(it->request)) {
        ++it;
        continue;
      }
      const Fetching fetched = std::move(*it);
      it = fetching_.erase(it);
      fetched.then(fetched.before);
    }
    return !sending_.empty() || !fetching_.empty();
  }

 private:
  // Those of one rank in the order in which it sent them.
  std::optional<Message> receive_part() {
    int found = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, ranks_, &found, &handle, &status);
    if (found == 0) return std::nullopt;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Message message{status.MPI_SOURCE, status.MPI_TAG, std::string(static_cast<size_t>(count), '\0')};
    MPI_Mrecv(message.bytes.data(), count, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
    return message;
  }

  void meet_neighbours() {
    const Neighbour mine{::getpid(), usable_cores()};
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(ranks_, MPI_COMM_TYPE_SHARED, /*key=*/rank_, MPI_INFO_NULL, &here);
    int count = 0;
    MPI_Comm_size(here, &count);
    std::vector<Neighbour> all(static_cast<size_t>(count));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, here);
    MPI_Comm_free(&here);
    neighbours_ = neighbours_of(all, mine);
  }

  // Buffers stay where they are until MPI is done with them.
  struct Sending {
    std::shared_ptr<const std::string> whole;  // message, of which a part is sent
    MPI_Request request;
  };
  struct Fetching {
    int64_t add, before;
    MPI_Request request;
    std::function<void(int64_t)> then;
  };

  static bool done(MPI_Request& request) {
    int flag = 0;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }

  MPI_Comm ranks_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  int64_t* counter_ = nullptr;
  int rank_ = 0, size_ = 1;
  const size_t most_;  // bytes of a part
  Neighbours neighbours_;
  std::list<Sending> sending_;
  std::map<int, std::string> begun_;  // by sender: messages of which parts have come
  std::list<Fetching> fetching_;
};

}  // namespace

std::unique_ptr<Transport> mpi_transport(size_t most) { return std::make_unique<MpiTransport>(most); }

// Open MPI takes itself for alone under most strange launchers, but gives up under srun without PMIx.
bool mpi_would_abort() {
#ifdef OPEN_MPI
  return std::getenv("SLURM_STEP_NUM_TASKS") != nullptr && std::getenv("PMIX_RANK") == nullptr &&
         std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
#else
  return false;
#endif
}

}  // namespace nascent::cluster

#endif
