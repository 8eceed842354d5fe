// Training-free scores.
#include "nascent/python/python.h"
#include "nascent/score/probe.h"
#include "nascent/score/scoring.h"

namespace nascent::python {
namespace {

std::vector<Scores> scores_of(const std::vector<std::string>& genotypes, const py::dict& keywords) {
  ScoringOptions options;
  OptionTable table;
  options.declare(table);
  read_keywords(table, keywords);
  options.genotypes = genotypes;
  const LongWork work;
  const ScoreColumns columns = score(options).scores;
  std::vector<Scores> all;
  for (size_t i = 0; i < columns.size(); ++i) all.push_back(columns[i]);
  return all;
}

}  // namespace

void bind_scores(py::module_& module) {
  module.def("score", scores_of);
  module.def("metrics", [] { return Metric::Registry::instance().names(); });
}

}  // namespace nascent::python
