#include "cluster/scenarios.h"

#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <map>
#include <thread>

#include "nascent/cluster/farm.h"
#include "nascent/cluster/ranks.h"
#include "nascent/cluster/team.h"
#include "nascent/cluster/transport.h"
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"

namespace nascent::cluster {
namespace {

// Squares a number, after doing what the opening says.
class Squares : public Helper {
 public:
  explicit Squares(const Json& opening) : opening_(opening) {
    if (opening.value("refuse", -1) == rank()) fail("The folder 'pictures' is not there.");
  }

  std::string digest() const override { return opening_.value("other data", -1) == rank() ? "other images" : "images"; }

  std::string piece(const Work& work) override {
    const int64_t number = work.number;
    if (number == opening_.value("fail", -1)) fail("Piece {} is bad.", number);
    if (number == opening_.value("signal", -1)) raise(SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(opening_.value("milliseconds", 0)));
    return fmt::format("{} {}", number * number, rank());
  }

 private:
  Json opening_;
};

NASCENT_REGISTER(Helper, "squares", "squares numbers",
                 [](const Json& opening) { return std::make_unique<Squares>(opening); });

// Rank 0 prints the squares in the order of the pieces, and how many ranks had a hand in them.
void farm_squares(const Json& opening, int count, int threads = 1, int grow_to = 0) {
  if (rank() > 0) return serve();
  Squares mine(opening);
  std::map<int64_t, int> results;
  std::map<std::string, int> hands;
  int added = count;
  Farm* growing = nullptr;
  Farm farm("squares", opening, mine, [&](int64_t piece, const std::string& result) {
    const auto fields = split(result, ' ');
    results[piece] = std::stoi(fields[0]);
    ++hands[fields[1]];
    if (added < grow_to) growing->add({.number = added++});
  });
  growing = &farm;
  for (int i = 0; i < count; ++i) farm.add({.number = i});
  farm.run(threads);
  for (const auto& [piece, square] : results) std::cout << square << ' ';
  std::cout << "by " << hands.size() << std::endl;
}

// Every rank's number, by way of every other; and what the opening says happens in round 3.
std::string round_of(Team& team, const Json& opening, int round) {
  if (round == 3 && opening.value("fail", -1) == team.rank()) fail("Round 3 is bad.");
  if (round == 3 && opening.value("signal", -1) == team.rank()) raise(SIGUSR1);
  std::vector<std::string> to;
  for (int other = 0; other < team.size(); ++other) to.push_back(fmt::format("{}>{} ", team.rank(), other));
  std::string all;
  for (const std::string& part : team.exchange(std::move(to))) all += part;
  return all;
}

class Rounds : public Companion {
 public:
  explicit Rounds(const Json& opening) : opening_(opening) {
    if (opening.value("refuse", -1) == rank()) fail("The folder 'pictures' is not there.");
  }
  std::string digest() const override { return opening_.value("other data", -1) == rank() ? "other images" : "images"; }
  void follow(Team& team) override {
    while (true) round_of(team, opening_, std::stoi(team.hear()));
  }

 private:
  Json opening_;
};

NASCENT_REGISTER(Companion, "rounds", "exchanges",
                 [](const Json& opening) { return std::make_unique<Rounds>(opening); });

void team_rounds(const Json& opening) {
  if (rank() > 0) return serve();
  Team team("rounds", opening, "images", "");
  const int rounds = opening.contains("signal") ? 1'000'000 : 20;
  for (int round = 0; round < rounds; ++round) {
    team.order(std::to_string(round));
    const std::string all = round_of(team, opening, round);
    if (round + 1 == rounds) std::cout << all << "in " << team.cost().exchanges << std::endl;
    if (interrupt_requested()) throw Interrupted();
  }
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

const std::map<std::string, std::function<void()>>& scenarios() {
  static const std::map<std::string, std::function<void()>> all = {
      {"farm",
       [] {
         farm_squares({{"milliseconds", 20}}, 12);
       }},
      {"threads",
       [] {
         farm_squares({{"milliseconds", 20}, {"threads", 2}}, 12, 2);
       }},
      {"growing", [] { farm_squares(Json::object(), 2, 1, 12); }},
      {"two farms",
       [] {
         if (rank() > 0) return serve();
         farm_squares(Json::object(), 5);
         farm_squares(Json::object(), 7);
       }},
      {"bad piece",
       [] {
         farm_squares({{"fail", 3}, {"milliseconds", 5}}, 12);
       }},
      {"no data",
       [] {
         farm_squares({{"refuse", 1}}, 12);
       }},
      {"other data",
       [] {
         farm_squares({{"other data", 2}}, 12);
       }},
      {"signal",
       [] {
         farm_squares({{"signal", 4}, {"milliseconds", 5}}, 1000);
       }},
      {"team", [] { team_rounds(Json::object()); }},
      {"bad companion",
       [] {
         team_rounds({{"fail", 1}});
       }},
      {"bad leader",
       [] {
         team_rounds({{"fail", 0}});
       }},
      {"team without data",
       [] {
         team_rounds({{"refuse", 1}});
       }},
      {"team with other data",
       [] {
         team_rounds({{"other data", 2}});
       }},
      {"team signal",
       [] {
         team_rounds({{"signal", 1}});
       }},
      {"disagree",
       [] {
         agree({{"options", {{"data", {{"batch", rank() == 1 ? 32 : 64}}}}}});
         farm_squares(Json::object(), 5);
       }},
      {"one fails early",
       [] {
         if (rank() == 2) fail("There is no file 'mine.toml'.");
         agree(Json::object());
         farm_squares(Json::object(), 5);
       }},
      {"one ends early",
       [] {
         if (rank() == 1) return;
         agree(Json::object());
         farm_squares(Json::object(), 5);
       }},
      {"rank 0 fails",
       [] {
         agree(Json::object());
         if (rank() == 0) fail("There is no space 'dorts'.");
         serve();
       }},
      {"neighbours",
       [] {
         if (rank() == 0) std::cout << usual_threads() << " threads, " << processes_here().size() << " here\n";
       }},
      {"too many",
       [] {
         if (rank() > 0) return serve();
         require_work(2, "architectures");
       }},
      {"waiting",  // the others have nothing to do for two seconds
       [] {
         const double before = processor_seconds();
         if (rank() > 0) {
           serve();
           if (processor_seconds() - before > 0.4) fail("{} s of processor time to wait", processor_seconds() - before);
           return;
         }
         std::this_thread::sleep_for(std::chrono::seconds(2));
       }},
  };
  return all;
}

int code_of(const std::function<void()>& scenario) {
  try {
    scenario();
    return 0;
  } catch (const Interrupted&) {
    return 130;
  } catch (const Error& error) {
    log::error("{}", error.what());
    return 2;
  }
}

}  // namespace

// Every rank sends every other one messages of 0 to 50 bytes in parts of 7, and looks at what it gets. Without the rest
// of this room.
int send_in_parts() {
  const auto transport = mpi_transport(7);
  const auto text = [](int from, int number) {
    return std::string(static_cast<size_t>(number), static_cast<char>('a' + from));
  };
  constexpr int kMessages = 51;
  for (int number = 0; number < kMessages; ++number) {
    for (int to = 0; to < transport->size(); ++to) {
      if (to != transport->rank()) transport->send(to, 1 + number % 3, text(transport->rank(), number));
    }
  }
  std::map<int, int> seen;
  for (int left = kMessages * (transport->size() - 1); left > 0; transport->progress()) {
    const auto message = transport->receive();
    if (!message) continue;
    const int number = seen[message->from]++;
    if (message->kind != 1 + number % 3 || message->bytes != text(message->from, number)) return 1;
    --left;
  }
  if (transport->rank() == 0) std::cout << "all as sent\n";
  return 0;
}

int run_scenario(const std::string& name) {
  if (name == "parts") return send_in_parts();
  return with_ranks([&] {
    catch_interrupts();
    return code_of(scenarios().at(name));
  });
}

}  // namespace nascent::cluster
