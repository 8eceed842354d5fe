#include "nascent/run/run_space.h"

namespace nascent {

std::string run_space(const RunDirectory& run, const std::optional<Genotype>& genotype) {
  if (genotype) return genotype->space;
  const Json all = run.options();
  for (const auto& [section, options] : all.items()) {
    if (options.is_object() && options.contains("space") && options["space"].is_string()) return options["space"];
  }
  return "";
}

}  // namespace nascent
