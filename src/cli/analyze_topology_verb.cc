// nascent analyze topology: computes the width and depth of cells and compares them with all wirings.
#include "nascent/analysis/topology_comparison.h"
#include "nascent/analysis/topology_table.h"
#include "nascent/cli/verb.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

class AnalyzeTopologyVerb : public Verb {
 public:
  std::string arguments() const override { return "[GENOTYPE...]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("topology", "Which cells are looked at, and what they are compared with.");
    section.add("genotype", genotypes_, "names, files or run folders; also accepted as arguments");
    section.add("table", table_, "benchmark table: analyse all its architectures and compare with their accuracies");
    section.add("measures", measures_, "columns of the table to compare width and depth with");
    section.add("repeat", repeat_, "whether the wirings compared with may use an input twice")
        .one_of({"space", "yes", "no"});
    section.add("plot", plot_, "draw the cells side by side to this .svg, .png or .pdf file, with a .csv beside it");
    section.add("csv", csv_, "write the table to this file");
  }

  Json run(const Invocation& invocation) override {
    std::vector<std::string> names = genotypes_;
    names.insert(names.end(), invocation.arguments.begin(), invocation.arguments.end());
    if (names.empty() == table_.empty()) {
      fail("nascent analyze topology: either genotypes or --table TABLE was expected, as in '{}'.",
           "nascent analyze topology darts-v2 enas");
    }
    return table_.empty() ? compare(invocation, names) : tabulate(invocation);
  }

 private:
  Json compare(const Invocation& invocation, const std::vector<std::string>& names) const {
    const std::vector<ComparedCell> cells =
        compare_topologies(names, repeat_ == "space" ? std::nullopt : std::optional(repeat_ == "yes"));
    invocation.print(fmt::format("{:<24} {:<8} {:>7} {:>6} {:>13} {:>9} {:>24}", "genotype", "cell", "width", "depth",
                                 "widths", "depths", "as wide and as shallow"));
    Json rows = Json::array();
    for (const ComparedCell& cell : cells) {
      rows.push_back(cell.to_json());
      invocation.print(line_of(cell));
    }
    if (!csv_.empty()) write_file(csv_, comparison_csv(cells));
    if (!plot_.empty()) draw_comparison(cells, plot_);
    return {{"cells", rows}};
  }

  static std::string line_of(const ComparedCell& compared) {
    const auto& [type, topology, all] = compared.cell;
    const std::string line =
        fmt::format("{:<24} {:<8} {:>6.4g}c {:>6}", compared.genotype, type, topology.width, topology.depth);
    if (!all) return line;
    const Topology least = all->narrowest(), most = all->widest();
    return fmt::format("{} {:>13} {:>9} {:>10.2f} % of {:.0f}", line,
                       fmt::format("{:.4g}c-{:.4g}c", least.width, most.width),
                       fmt::format("{}-{}", least.depth, most.depth), 100 * all->share(topology), all->total);
  }

  Json tabulate(const Invocation& invocation) const {
    const BenchmarkTable table(table_);
    const TopologyTable topology = tabulate_topology(table, measures_);
    invocation.print(fmt::format("{} architectures, {} of them connected; Spearman's correlation over those:",
                                 table.rows(), topology.connected));
    Json rows = Json::array();
    for (const TopologyCorrelation& found : topology.correlations) {
      invocation.print(fmt::format("{:<24} with width {:>6.3f}, with depth {:>6.3f}  ({} architectures)", found.measure,
                                   found.width, found.depth, found.architectures));
      rows.push_back({{"measure", found.measure},
                      {"width", found.width},
                      {"depth", found.depth},
                      {"architectures", found.architectures}});
    }
    if (!csv_.empty()) write_file(csv_, topology_csv(table, topology, measures_));
    return {{"architectures", table.rows()}, {"connected", topology.connected}, {"correlations", rows}};
  }

  std::vector<std::string> genotypes_, measures_ = {"cifar10_valid12", "cifar10_test200"};
  std::string table_, repeat_ = "space", plot_, csv_;
};

NASCENT_REGISTER(Verb, "analyze topology", "computes the width and depth of cells and compares them with all wirings",
                 [] { return std::make_unique<AnalyzeTopologyVerb>(); });

}  // namespace
}  // namespace nascent
