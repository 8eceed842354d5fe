#include "nascent/analysis/topology_comparison.h"

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/cell_gallery.h"

namespace nascent {
namespace {

constexpr const char* kComparisonFields =
    "genotype,cell,width,depth,least_width,most_width,least_depth,most_depth,share,wirings";

std::string stem_of(const std::string& name) {
  const std::filesystem::path stem = std::filesystem::path(name).stem();
  return stem.empty() ? name : stem.string();
}

}  // namespace

std::vector<ComparedCell> compare_topologies(const std::vector<std::string>& genotypes, std::optional<bool> repeat) {
  std::vector<ComparedCell> cells;
  for (const std::string& name : genotypes) {
    const Genotype genotype = find_genotype(name);
    for (CellTopology& cell : analyse_topology(genotype, repeat)) {
      const CellGenotype& wiring = genotype.cell(cell.type);
      cells.push_back({name, std::move(cell), wiring});
    }
  }
  return cells;
}

Json ComparedCell::to_json() const {
  Json row = {
      {"genotype", genotype}, {"cell", cell.type}, {"width", cell.topology.width}, {"depth", cell.topology.depth}};
  if (!cell.all) return row;
  row["least_width"] = cell.all->narrowest().width;
  row["most_width"] = cell.all->widest().width;
  row["least_depth"] = cell.all->narrowest().depth;
  row["most_depth"] = cell.all->widest().depth;
  row["share"] = cell.all->share(cell.topology);
  row["wirings"] = cell.all->total;
  return row;
}

std::string comparison_csv(const std::vector<ComparedCell>& cells) {
  std::string text = fmt::format("{}\n", kComparisonFields);
  for (const ComparedCell& cell : cells) {
    const Json row = cell.to_json();
    std::vector<std::string> fields;
    for (const std::string& key : split(kComparisonFields, ',')) {
      const Json value = row.value(key, Json(""));
      fields.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    text += fmt::format("{}\n", join(fields, ","));
  }
  return text;
}

void draw_comparison(const std::vector<ComparedCell>& cells, const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension != ".svg" && extension != ".png" && extension != ".pdf") {
    fail("--plot {}: the name must end in .svg, .png or .pdf.", file.string());
  }
  std::vector<TitledCell> titled;
  for (const auto& [genotype, cell, wiring] : cells) {
    titled.push_back({fmt::format("{} {}: {}", stem_of(genotype), cell.type, topology_title(cell.topology)), wiring});
  }
  const auto picture = draw_cells(titled, extension.substr(1));
  if (!picture) fail("--plot: graphviz's dot, gvpack and neato did not run; install the package graphviz.");
  write_file(file, *picture);
  write_file(std::filesystem::path(file).replace_extension(".csv"), comparison_csv(cells));
}

}  // namespace nascent
