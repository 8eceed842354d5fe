// A search method: from a problem to a genotype. Methods register by name at the foot of their file; every strategy
// (search/strategy.h) is a method too.
//
//   const auto method = make_method(problem);   // refuses what it can before there is a run
//   const Found found = method->run(session);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/search/problem.h"
#include "nascent/train/session.h"

namespace nascent {

// What a method found.
struct Found {
  Genotype genotype{};
  std::optional<double> valid_top1{};  // on held-out data, where it was measured
  Json facts = Json::object();         // what else result.json shall hold
};

// What others must know of a method.
struct MethodFacts {
  std::vector<std::string> judges{};    // that it takes, its default first; "" among them: it needs none
  bool pool = false;                    // it chooses from a pool of architectures with training-free metrics
  std::string recipe{};                 // that shows its published settings
  std::vector<std::string> sections{};  // of options that it reads, besides those that all searches have
};

class Method {
 public:
  static std::string kind() { return "search method"; }
  using Registry = nascent::Registry<Method, std::unique_ptr<Method>(const Problem&), MethodFacts>;

  virtual ~Method() = default;
  // What the report's headline says beyond space, data and method.
  virtual RunFacts facts() const { return {}; }
  // An Error where one search by this method cannot be spread over the ranks there are.
  virtual void check_ranks() const;
  // The session has begun; goes on from where it was stopped.
  virtual Found run(Session& session) = 0;
};

// Every method by name, those of the strategies included.
struct MethodEntry {
  std::string name, description;
  MethodFacts facts;
};
std::vector<MethodEntry> methods();
std::vector<std::string> method_names();
MethodEntry find_method(const std::string& name);  // an Error lists the known ones

// An Error where an option of `table` was set that the method does not read: a mistake, not to be passed over.
void check_options(const std::string& method, const OptionTable& table);

// The method that the problem's options name.
std::unique_ptr<Method> make_method(const Problem& problem);

}  // namespace nascent
