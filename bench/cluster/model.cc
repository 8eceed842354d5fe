// Nascent's farm (src/cluster: farm.cc and member.cc as they are) and the exchanges of a data-parallel search on a
// described cluster, with computing replaced by delays that were measured. See docs/results/cluster-scale.md.
//
//   cluster_model farm PLATFORM RANKS PIECES SECONDS SPREAD RESULT_SECONDS [atomics|carried] [SLOW] [END]
//   cluster_model exchange PLATFORM RANKS SHARDS SECONDS BYTES [SLOW]
//
// farm: SECONDS and SPREAD are mean and deviation of a piece, RESULT_SECONDS what rank 0 does with a result. The shared
// counter is served by the network card (atomics) or by rank 0's carrier when it next looks (carried, as over TCP).
// SLOW is the speed of the first node but one against the others; at END seconds a node is lost, and with it the run.
// exchange: a step of SECONDS on one rank, cut into shards, and sums of so many BYTES over ranks, each of a part: every
// rank sends each other one its part, and the sum of its own part back.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>

#include "nascent/cluster/farm.h"
#include "nascent/cluster/member.h"
#include "nascent/cluster/ranks.h"
#include "nascent/core/random.h"

namespace nascent::cluster {

int usual_threads() { return 1; }

namespace {

namespace sg = simgrid::s4u;

constexpr double kHeader = 64;  // bytes of a message beside its text
constexpr int kFetch = 1000, kFetched = 1001;

struct Parcel {
  Message message;
  int64_t number = 0;  // in the order of its sender
};

sg::Mailbox* mailbox(const std::string& kind, int rank) {
  return sg::Mailbox::by_name(fmt::format("{}-{}", kind, rank));
}

// Messages that arrive in the order in which they were sent, without anybody waiting for them.
class SimulatedTransport : public Transport {
 public:
  SimulatedTransport(int rank, int size, bool atomics) : rank_(rank), size_(size), atomics_(atomics) {
    mailbox("rank", rank)->set_receiver(sg::Actor::self());
    expect();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, int kind, std::string bytes) override { post(mailbox("rank", to), to, kind, std::move(bytes)); }

  std::optional<Message> receive() override {
    while (true) {
      arrive();
      if (ready_.empty()) return std::nullopt;
      Message message = std::move(ready_.front());
      ready_.pop_front();
      if (message.kind == kFetch) {
        send(message.from, kFetched, std::to_string(counter_));
        counter_ += std::stoll(message.bytes);
      } else if (message.kind == kFetched) {
        answer(std::stoll(message.bytes));
      } else {
        return message;
      }
    }
  }

  void fetch_and_add(int64_t add, std::function<void(int64_t)> then) override {
    waiting_.push_back(std::move(then));
    if (rank_ == 0 && !atomics_) {
      const int64_t before = counter_;
      counter_ += add;
      answer(before);
    } else {
      post(atomics_ ? mailbox("counter", 0) : mailbox("rank", 0), 0, kFetch, std::to_string(add));
    }
  }

  bool progress() override {
    sending_.remove_if([](const sg::CommPtr& comm) { return comm->test(); });
    return !sending_.empty() || !waiting_.empty();
  }

 private:
  void post(sg::Mailbox* box, int to, int kind, std::string bytes) {
    const auto size = static_cast<uint64_t>(kHeader + static_cast<double>(bytes.size()));
    const bool is_counter = box->get_name().starts_with("counter");
    auto* parcel = new Parcel{{rank_, kind, std::move(bytes)}, is_counter ? -1 : sent_[to]++};
    sending_.push_back(box->put_async(parcel, size));
  }

  void expect() { arriving_ = mailbox("rank", rank_)->get_async<Parcel>(&parcel_); }

  void arrive() {
    while (arriving_->test()) {
      const std::unique_ptr<Parcel> parcel(parcel_);
      const int from = parcel->message.from;
      if (parcel->number < 0) {
        ready_.push_back(std::move(parcel->message));
      } else {
        early_[{from, parcel->number}] = std::move(parcel->message);
      }
      for (auto it = early_.find({from, received_[from]}); it != early_.end();
           it = early_.find({from, received_[from]})) {
        ready_.push_back(std::move(it->second));
        early_.erase(it);
        ++received_[from];
      }
      expect();
    }
  }

  void answer(int64_t before) {
    const auto then = std::move(waiting_.front());
    waiting_.pop_front();
    then(before);
  }

  int rank_, size_;
  bool atomics_;
  int64_t counter_ = 0;
  Parcel* parcel_ = nullptr;
  sg::CommPtr arriving_;
  std::list<sg::CommPtr> sending_;
  std::deque<Message> ready_;
  std::map<std::pair<int, int64_t>, Message> early_;
  std::map<int, int64_t> sent_, received_;
  std::deque<std::function<void(int64_t)>> waiting_;
};

// The network card of rank 0.
void serve_counter() {
  sg::Actor::self()->daemonize();
  int64_t counter = 0;
  std::list<sg::CommPtr> answers;
  while (true) {
    const std::unique_ptr<Parcel> request(mailbox("counter", 0)->get<Parcel>());
    auto* answer = new Parcel{{0, kFetched, std::to_string(counter)}, -1};
    counter += std::stoll(request->message.bytes);
    mailbox("rank", request->message.from)->put_init(answer, static_cast<uint64_t>(kHeader))->detach();
  }
}

// The node that is slow, and its speed against the others'.
const sg::Host* slow_node = nullptr;
double slow_speed = 1;

// As long as these seconds of one core of a usual node take here.
void compute(double seconds) {
  const double speed = sg::this_actor::get_host() == slow_node ? slow_speed : 1;
  sg::this_actor::execute(seconds * 1e9 / speed);
}

struct FarmSetting {
  int ranks = 1;
  int64_t pieces = 1;
  double seconds = 1, spread = 0, result_seconds = 0;
  bool atomics = true;
} setting;

// Takes as long as scoring takes, with a deviation that belongs to the piece.
class DelayHelper : public Helper {
 public:
  std::string piece(const Work& work) override {
    RandomStream random(1, "piece", {static_cast<uint64_t>(work.number)});
    // Log-normal, as times are.
    const double variance = std::log(1 + std::pow(setting.spread / setting.seconds, 2));
    const double seconds = std::exp(std::log(setting.seconds) - variance / 2 + std::sqrt(variance) * random.normal());
    compute(seconds);
    return std::string(110, 'x');  // as long as the scores of five metrics
  }
};

NASCENT_REGISTER(Helper, "delay", "takes time", [](const Json&) { return std::make_unique<DelayHelper>(); });

int64_t done = 0;

void lead() {
  DelayHelper mine;
  double opened = 0;
  {
    Member member(std::make_unique<SimulatedTransport>(0, setting.ranks, setting.atomics));
    Farm farm("delay", Json::object(), mine, [&](int64_t, const std::string&) {
      if (done++ == 0) opened = sg::Engine::get_clock();
      compute(setting.result_seconds);
    });
    for (int64_t i = 0; i < setting.pieces; ++i) farm.add({.number = i});
    farm.run(1);
    const double seconds = sg::Engine::get_clock();
    const double ideal = static_cast<double>(setting.pieces) * setting.seconds / setting.ranks;
    std::printf("ranks=%d pieces=%ld seconds=%.3f efficiency=%.3f first_result=%.3f\n", setting.ranks,
                static_cast<long>(setting.pieces), seconds, ideal / seconds, opened);
    std::fflush(stdout);
    member.leave({});
  }
}

void follow(int rank) {
  // Member::instance() is the last one made: rank 0's farm asks for it first, serve() below at once.
  sg::this_actor::sleep_for(1e-6);
  Member member(std::make_unique<SimulatedTransport>(rank, setting.ranks, setting.atomics));
  serve();
  member.leave({});
}

sg::Host* host_of(const std::vector<sg::Host*>& hosts, int rank, int ranks) {
  const auto nodes = std::min<size_t>(hosts.size(), static_cast<size_t>(ranks));
  return hosts[static_cast<size_t>(rank) * nodes / static_cast<size_t>(ranks)];
}

std::vector<sg::Host*> sorted_hosts(sg::Engine& engine, double slow) {
  auto hosts = engine.get_all_hosts();
  std::sort(hosts.begin(), hosts.end(), [](const sg::Host* a, const sg::Host* b) {
    return std::atoi(a->get_cname() + 5) < std::atoi(b->get_cname() + 5);  // node-N.…
  });
  if (slow > 0) {
    slow_node = hosts.at(1);
    slow_speed = slow;
  }
  return hosts;
}

int farm(sg::Engine& engine, const std::vector<std::string>& words) {
  const auto number = [&](size_t i) { return words.size() > i ? std::stod(words[i]) : 0.0; };
  setting = {.ranks = static_cast<int>(number(0)),
             .pieces = static_cast<int64_t>(number(1)),
             .seconds = number(2),
             .spread = number(3),
             .result_seconds = number(4),
             .atomics = words.size() <= 5 || words[5] == "atomics"};
  const auto hosts = sorted_hosts(engine, number(6));
  if (setting.atomics) sg::Actor::create("counter", hosts[0], serve_counter);
  sg::Actor::create("rank-0", hosts[0], lead);
  for (int rank = 1; rank < setting.ranks; ++rank) {
    sg::Actor::create(fmt::format("rank-{}", rank), host_of(hosts, rank, setting.ranks), [rank] { follow(rank); });
  }
  if (number(7) > 0) {
    engine.run_until(number(7));
    std::printf("lost at %.3f: %ld of %ld pieces done\n", number(7), static_cast<long>(done),
                static_cast<long>(setting.pieces));
    std::fflush(stdout);
    std::_Exit(0);  // as all its processes do
  }
  engine.run();
  return 0;
}

// One step: the shards of a rank, then two exchanges of parts.
void step(int rank, int ranks, int shards, double seconds, double bytes, double* end) {
  const int own = shards / ranks + (rank < shards % ranks ? 1 : 0);
  compute(seconds / shards * own);
  for (const std::string round : {"sum", "back"}) {
    // As Member's carrier: whatever comes first is taken first.
    std::vector<sg::CommPtr> under_way;
    std::vector<int*> parts(static_cast<size_t>(ranks));
    const auto box = [&](int from, int to) { return sg::Mailbox::by_name(fmt::format("{}-{}-{}", round, from, to)); };
    for (int i = 1; i < ranks; ++i) {
      const int other = (rank + i) % ranks;
      under_way.push_back(box(other, rank)->get_async<int>(&parts[static_cast<size_t>(other)]));
      under_way.push_back(box(rank, other)->put_async(new int(0), static_cast<uint64_t>(kHeader + bytes / ranks)));
    }
    for (auto& one : under_way) one->wait();
    for (const int* part : parts) delete part;
  }
  *end = std::max(*end, sg::Engine::get_clock());
}

int exchange(sg::Engine& engine, const std::vector<std::string>& words) {
  const int ranks = std::stoi(words.at(0)), shards = std::stoi(words.at(1));
  const double seconds = std::stod(words.at(2)), bytes = std::stod(words.at(3));
  const auto hosts = sorted_hosts(engine, words.size() > 4 ? std::stod(words[4]) : 0);
  double end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sg::Actor::create(fmt::format("rank-{}", rank), hosts.at(static_cast<size_t>(rank)),
                      [=, &end] { step(rank, ranks, shards, seconds, bytes, &end); });
  }
  engine.run();
  std::printf("ranks=%d shards=%d step=%.6f efficiency=%.3f\n", ranks, shards, end, seconds / ranks / end);
  return 0;
}

}  // namespace
}  // namespace nascent::cluster

int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  if (argc < 4) {
    std::fprintf(stderr, "usage: cluster_model farm|exchange PLATFORM ...; see its source\n");
    return 2;
  }
  nascent::log::set_level(nascent::log::Level::error);
  engine.load_platform(argv[2]);
  const std::vector<std::string> words(argv + 3, argv + argc);
  return std::string(argv[1]) == "farm" ? nascent::cluster::farm(engine, words)
                                        : nascent::cluster::exchange(engine, words);
}
