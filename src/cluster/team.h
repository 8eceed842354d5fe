// All ranks at one piece of work: rank 0 leads, the others follow its orders, and all exchange what they have.
//
//   Team team("train", opening, digest, log);          // on rank 0; the others are in serve()
//   team.order("step 12");                             // what companions hear()
//   const auto from = team.exchange(std::move(to));    // on every rank
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"

namespace nascent::cluster {

class Member;

class Team {
 public:
  // On rank 0. `companion` is what the others make of `opening`; what they work on must have this digest. `log` is as a
  // farm has it. There must be several ranks.
  Team(const std::string& companion, const Json& opening, const std::string& digest, const std::string& log);
  // On the others: made by serve().
  explicit Team(Member& member);
  // Rank 0 lets the others go, wherever they are.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int rank() const;
  int size() const;
  // From rank 0 to the others.
  void order(const std::string& text);
  // On the others, the next one; throws Disbanded.
  std::string hear();
  // Sends `to[i]` to rank i and returns what rank i sent here, in the order of the ranks; this rank's own comes back as
  // it is. Every rank calls it as often as the others. Throws Disbanded where rank 0 has let the team go.
  std::vector<std::string> exchange(std::vector<std::string> to);

  // What the exchanges have cost here so far.
  struct Cost {
    int64_t exchanges = 0, bytes = 0;  // sent
    double seconds = 0;
  };
  const Cost& cost() const { return cost_; }

  struct Disbanded {};

 private:
  Member& member_;
  Cost cost_;
};

// What a rank other than 0 is to a team. Its maker gets what rank 0 opened the team with, and may refuse it with an
// Error.
class Companion {
 public:
  static std::string kind() { return "companion"; }
  using Registry = nascent::Registry<Companion, std::unique_ptr<Companion>(const Json& opening)>;

  virtual ~Companion() = default;
  // Of the data that it works on: must be the same on every rank.
  virtual std::string digest() const { return ""; }
  // Until the team is disbanded.
  virtual void follow(Team& team) = 0;
};

// On the others: what an order to open a team asks for.
void join_team(Member& member, const Json& order);

}  // namespace nascent::cluster
