#include "nascent/search/method.h"

#include <algorithm>

#include "nascent/cluster/ranks.h"
#include "nascent/core/error.h"
#include "nascent/search/black_box/black_box_method.h"

namespace nascent {

void Method::check_ranks() const {
  if (cluster::size() == 1) return;
  fail(
      "One search by this method works in one process, but {} were started. Spread several with --seeds N or "
      "--recipes, "
      "or start it without mpirun or srun.",
      cluster::size());
}

std::vector<MethodEntry> methods() {
  std::vector<MethodEntry> all;
  for (const auto& [name, entry] : Method::Registry::instance().entries()) {
    all.push_back({name, entry.description, entry.facts});
  }
  for (const auto& [name, entry] : Strategy::Registry::instance().entries()) {
    all.push_back({name, entry.description, black_box_facts(name)});
  }
  std::sort(all.begin(), all.end(), [](const MethodEntry& a, const MethodEntry& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& method : methods()) names.push_back(method.name);
  return names;
}

MethodEntry find_method(const std::string& name) {
  for (const auto& method : methods()) {
    if (method.name == name) return method;
  }
  fail("There is no search method '{}'.{} Known: {}.", name, suggestion(name, method_names()),
       join(method_names(), ", "));
}

namespace {

// Options of the section "search" that every method has.
bool is_common(const Option& option) {
  static const std::vector<std::string> names = {"method", "judge", "space", "table"};
  return option.section() == "search" && std::find(names.begin(), names.end(), option.name()) != names.end();
}

}  // namespace

void check_options(const std::string& name, const OptionTable& table) {
  const MethodEntry method = find_method(name);
  std::vector<std::string> own = {"stages", "compare", "network", "data", "run"};
  own.insert(own.end(), method.facts.sections.begin(), method.facts.sections.end());
  for (const Option& option : table.options()) {
    if (!option.was_set() || is_common(option)) continue;
    if (std::find(own.begin(), own.end(), option.section()) != own.end()) continue;
    fail("{} is not an option of the method '{}', which has those of the sections {}.", option.key(), method.name,
         join(own, ", "));
  }
}

std::unique_ptr<Method> make_method(const Problem& problem) {
  const std::string& name = problem.options().method;
  if (Strategy::Registry::instance().contains(name)) return make_black_box_method(problem, name);
  return Method::Registry::instance().make(name, problem);
}

}  // namespace nascent
