#include "nascent/cluster/team.h"

#include <chrono>

#include "nascent/cluster/member.h"
#include "nascent/cluster/opening.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"

namespace nascent::cluster {

Team::Team(const std::string& companion, const Json& opening, const std::string& digest, const std::string& log)
    : member_(*Member::instance()) {
  try {
    open_on_all(member_, {{"companion", companion}, {"opening", opening}, {"log", log}}, digest);
  } catch (...) {
    member_.send_all(kDisband);  // to those that are ready
    throw;
  }
}

Team::Team(Member& member) : member_(member) {}

Team::~Team() {
  if (rank() == 0) member_.send_all(kDisband);
}

int Team::rank() const { return member_.rank(); }
int Team::size() const { return member_.size(); }

void Team::order(const std::string& text) { member_.send_all(kOrder, text); }

std::string Team::hear() {
  Message message = member_.wait_now({kOrder, kDisband});
  if (message.kind == kDisband) throw Disbanded();
  return std::move(message.bytes);
}

std::vector<std::string> Team::exchange(std::vector<std::string> to) {
  const auto start = std::chrono::steady_clock::now();
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    cost_.bytes += std::ssize(to[other]);
    member_.send(other, kShare, std::exchange(to[other], {}));
  }
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    Message message = member_.wait_now({kShare, kDisband}, other);
    if (message.kind == kDisband) throw Disbanded();
    to[other] = std::move(message.bytes);
  }
  ++cost_.exchanges;
  cost_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return to;
}

void join_team(Member& member, const Json& order) {
  std::unique_ptr<Companion> companion;
  const bool ready = answer_opening(member, [&] {
    companion = Companion::Registry::instance().make(order.at("companion").get<std::string>(), order.at("opening"));
    return companion->digest();
  });
  if (!ready) return;
  Team team(member);
  try {
    companion->follow(team);
  } catch (const Team::Disbanded&) {
    log::info("Done: {} exchanges, {:.1f} MB sent.", team.cost().exchanges,
              static_cast<double>(team.cost().bytes) / 1e6);
  }
}

}  // namespace nascent::cluster
