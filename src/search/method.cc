#include "nascent/search/method.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/search/black_box/black_box_method.h"

namespace nascent {

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

std::unique_ptr<Method> make_method(const Problem& problem) {
  const std::string& name = problem.options().method;
  if (Strategy::Registry::instance().contains(name)) return make_black_box_method(problem, name);
  return Method::Registry::instance().make(name, problem);
}

}  // namespace nascent
