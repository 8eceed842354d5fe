#include "nascent/analysis/shared_estimates.h"

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/progress.h"
#include "nascent/search/judge.h"
#include "nascent/search/problem.h"

namespace nascent {

std::vector<double> shared_estimates(const std::string& run, const std::vector<Genotype>& genotypes) {
  if (genotypes.empty()) fail("There are no architectures to estimate by the shared weights of {}.", run);
  SearchOptions options;
  options.space = genotypes.front().space;
  options.judging.supernet = run;
  for (const Genotype& genotype : genotypes) {
    if (genotype.space == options.space) continue;
    fail("{}: a supernet has one space, but there are architectures of '{}' and of '{}'.", run, options.space,
         genotype.space);
  }
  const Problem problem(options);
  const auto judge = Judge::Registry::instance().make("shared", problem);
  std::vector<double> estimates;
  Progress progress("shared weights", static_cast<int64_t>(genotypes.size()));
  for (const Genotype& genotype : genotypes) {
    estimates.push_back(judge->judge(genotype, judge->budget()).accuracy);
    progress.advance(1);
    if (interrupt_requested()) throw Interrupted();
  }
  return estimates;
}

}  // namespace nascent
