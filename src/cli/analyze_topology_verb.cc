// nascent analyze topology: width and depth of cells, and where they stand among all wirings.
#include "nascent/analysis/topology_table.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/cell_gallery.h"

namespace nascent {
namespace {

class AnalyzeTopologyVerb : public Verb {
 public:
  std::string arguments() const override { return "[GENOTYPE...]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("topology", "Which cells are looked at, and what they are compared with.");
    section.add("genotype", genotypes_, "names, files or run folders; they may stand after the verb too");
    section.add("table", table_, "a benchmark table: every architecture of it, beside what it reaches");
    section.add("measures", measures_, "columns of the table that width and depth are compared with");
    section.add("repeat", repeat_, "whether the wirings to compare with may take an input twice")
        .one_of({"space", "yes", "no"});
    section.add("plot", plot_, "draw the cells side by side into this file: .svg, .png or .pdf");
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
    Json rows = Json::array();
    std::vector<TitledCell> cells;
    std::string csv = "genotype,cell,width,depth,least_width,most_width,least_depth,most_depth,share,wirings\n";
    invocation.print(fmt::format("{:<24} {:<8} {:>7} {:>6} {:>13} {:>9} {:>24}", "genotype", "cell", "width", "depth",
                                 "widths", "depths", "as wide and as shallow"));
    for (const std::string& name : names) {
      const Genotype genotype = find_genotype(name);
      const std::optional<bool> repeat = repeat_ == "space" ? std::nullopt : std::optional(repeat_ == "yes");
      for (const CellTopology& cell : analyse_topology(genotype, repeat)) {
        rows.push_back(row_of(name, cell));
        print(invocation, rows.back(), cell.all.has_value());
        csv += csv_line(rows.back());
        cells.push_back({fmt::format("{} {}: {}", short_name(name), cell.type, topology_title(cell.topology)),
                         genotype.cell(cell.type)});
      }
    }
    if (!csv_.empty()) write_file(csv_, csv);
    if (!plot_.empty()) plot(cells);
    return {{"cells", rows}};
  }

  static std::string short_name(const std::string& name) {
    return std::filesystem::path(name).stem().empty() ? name : std::filesystem::path(name).stem().string();
  }

  static Json row_of(const std::string& name, const CellTopology& cell) {
    Json row = {
        {"genotype", name}, {"cell", cell.type}, {"width", cell.topology.width}, {"depth", cell.topology.depth}};
    if (!cell.all) return row;
    row["least_width"] = cell.all->narrowest().width;
    row["most_width"] = cell.all->widest().width;
    row["least_depth"] = cell.all->narrowest().depth;
    row["most_depth"] = cell.all->widest().depth;
    row["share"] = cell.all->share(cell.topology);
    row["wirings"] = cell.all->total;
    return row;
  }

  static void print(const Invocation& invocation, const Json& row, bool compared) {
    std::string line = fmt::format("{:<24} {:<8} {:>6.4g}c {:>6}", row["genotype"].get<std::string>(),
                                   row["cell"].get<std::string>(), row["width"].get<double>(), row["depth"].get<int>());
    if (compared) {
      line +=
          fmt::format(" {:>13} {:>9} {:>10.2f} % of {:.0f}",
                      fmt::format("{:.4g}c-{:.4g}c", row["least_width"].get<double>(), row["most_width"].get<double>()),
                      fmt::format("{}-{}", row["least_depth"].get<int>(), row["most_depth"].get<int>()),
                      100 * row["share"].get<double>(), row["wirings"].get<double>());
    }
    invocation.print(line);
  }

  static std::string csv_line(const Json& row) {
    std::vector<std::string> fields;
    for (const char* key : {"genotype", "cell", "width", "depth", "least_width", "most_width", "least_depth",
                            "most_depth", "share", "wirings"}) {
      const Json value = row.value(key, Json(""));
      fields.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    return join(fields, ",") + "\n";
  }

  void plot(const std::vector<TitledCell>& cells) const {
    const std::string extension = std::filesystem::path(plot_).extension().string();
    if (extension != ".svg" && extension != ".png" && extension != ".pdf") {
      fail("--plot {}: the name must end in .svg, .png or .pdf.", plot_);
    }
    const auto picture = draw_cells(cells, extension.substr(1));
    if (!picture) fail("--plot: graphviz's dot, gvpack and neato did not run; install the package graphviz.");
    write_file(plot_, *picture);
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

NASCENT_REGISTER(Verb, "analyze topology", "width and depth of cells, and where they stand among all wirings",
                 [] { return std::make_unique<AnalyzeTopologyVerb>(); });

}  // namespace
}  // namespace nascent
