#include "nascent/analysis/topology_table.h"

#include <cmath>

#include "nascent/core/correlation.h"

namespace nascent {
namespace {

TopologyCorrelation correlate(const TopologyTable& topology, const TableSeries& series) {
  std::vector<double> width, depth, values;
  for (size_t row = 0; row < topology.rows.size(); ++row) {
    const double value = series.value(row);
    if (!topology.is_connected(row) || std::isnan(value)) continue;
    width.push_back(topology.rows[row].width);
    depth.push_back(topology.rows[row].depth);
    values.push_back(value);
  }
  return {series.measure().name(), static_cast<int64_t>(values.size()), spearman(width, values),
          spearman(depth, values)};
}

}  // namespace

TopologyTable tabulate_topology(const BenchmarkTable& table, const std::vector<std::string>& measures) {
  TopologyTable topology;
  for (size_t row = 0; row < table.rows(); ++row) {
    topology.rows.push_back(topology_of(table.genotype(row).cells.front()));
    topology.connected += topology.is_connected(row) ? 1 : 0;
  }
  for (const std::string& measure : measures) {
    topology.correlations.push_back(correlate(topology, table.series(parse_measure(measure))));
  }
  return topology;
}

std::string topology_csv(const BenchmarkTable& table, const TopologyTable& topology,
                         const std::vector<std::string>& measures) {
  std::string text = "row,architecture,width,depth";
  std::vector<TableSeries> series;
  for (const std::string& measure : measures) {
    series.push_back(table.series(parse_measure(measure)));
    text += "," + measure;
  }
  text += "\n";
  for (size_t row = 0; row < topology.rows.size(); ++row) {
    const Genotype genotype = table.genotype(row);
    const std::vector<std::string> forms = text_forms(genotype);
    const std::string form = forms.size() > 1 ? to_text(genotype, forms[1]) : fmt::format("#{}", row);
    text += fmt::format("{},\"{}\",{},{}", row, form, topology.rows[row].width, topology.rows[row].depth);
    for (const TableSeries& column : series) {
      const double value = column.value(row);
      text += std::isnan(value) ? "," : fmt::format(",{:.6g}", value);
    }
    text += "\n";
  }
  return text;
}

}  // namespace nascent
