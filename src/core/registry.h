// Named implementations of one interface. Entries register themselves at the foot of their own source file:
//
//   NASCENT_REGISTER(Schedule, "cosine", "half a cosine from lr to lr-min", [](const ScheduleOptions& o) { ... });
//
// and Schedule declares `using Registry = nascent::Registry<Schedule, std::unique_ptr<Schedule>(const
// ScheduleOptions&)>`. What others must know about an entry stands with it, as facts, so that no room compares names:
//
//   NASCENT_REGISTER(Metric, "kappa", "condition number", condition_number, MetricFacts{.lower_is_better = true});
//   Metric::Registry::instance().at("kappa").facts.lower_is_better
//
// An unknown name is answered with the known ones; a name that is taken is an error.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {

struct NoFacts {};

// `Interface::kind()` names the interface in error texts ("schedule", "data set", ...).
template <class Interface, class Signature, class Facts = NoFacts>
class Registry {
 public:
  struct Entry {
    std::string description;
    std::function<Signature> make;
    Facts facts;
  };

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  bool add(const std::string& name, std::string description, std::function<Signature> make, Facts facts = {}) {
    const Entry entry{std::move(description), std::move(make), std::move(facts)};
    if (!entries_.emplace(name, entry).second) {
      fail("Two {}s are registered as '{}'; give one of them another name.", Interface::kind(), name);
    }
    return true;
  }

  const Entry& at(const std::string& name) const {
    const auto it = entries_.find(name);
    if (it == entries_.end()) {
      fail("There is no {} '{}'.{} Known: {}.", Interface::kind(), name, suggestion(name, names()),
           join(names(), ", "));
    }
    return it->second;
  }

  template <class... Args>
  auto make(const std::string& name, Args&&... args) const {
    return at(name).make(std::forward<Args>(args)...);
  }

  bool contains(const std::string& name) const { return entries_.count(name) != 0; }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

#define NASCENT_JOIN_(a, b) a##b
#define NASCENT_JOIN(a, b) NASCENT_JOIN_(a, b)
#define NASCENT_REGISTER(Interface, name, description, ...)                           \
  [[maybe_unused]] static const bool NASCENT_JOIN(nascent_registered_, __COUNTER__) = \
      Interface::Registry::instance().add(name, description, __VA_ARGS__)

}  // namespace nascent
