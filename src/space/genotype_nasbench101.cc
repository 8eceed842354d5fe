// The form of NAS-Bench-101: {"matrix": [[0, 1, ...], ...], "ops": ["input", ..., "output"]}, row to column.
#include "nascent/space/genotype_form.h"
#include "nascent/space/json_reader.h"
#include "nascent/space/nasbench101.h"

namespace nascent {

namespace {

const std::string kWhat = "the NAS-Bench-101 genotype";

AdjacencyMatrix read_matrix(const JsonReader& reader) {
  const std::vector<JsonReader> rows = reader.items();
  if (rows.size() < 2) reader.fail_here("a cell has at least 2 vertices, its input and its output");
  if (rows.size() > 100) reader.fail_here(fmt::format("{} vertices are more than 100", rows.size()));
  AdjacencyMatrix matrix;
  for (size_t from = 0; from < rows.size(); ++from) {
    matrix.emplace_back();
    for (const JsonReader& entry : rows[from].items()) {
      matrix.back().push_back(entry.number(0, 1));
      if (matrix.back().back() && matrix.back().size() <= from + 1) {
        entry.fail_here("edges must lead from a vertex to a later one: only entries above the diagonal may be 1");
      }
    }
    if (matrix.back().size() != rows.size()) {
      rows[from].fail_here(
          fmt::format("the row has {} entries, but the matrix has {} rows", matrix.back().size(), rows.size()));
    }
  }
  return matrix;
}

std::vector<std::string> read_ops(const JsonReader& reader, size_t vertices) {
  const std::vector<JsonReader> items = reader.items();
  if (items.size() != vertices) {
    reader.fail_here(fmt::format("there are {} operations for {} vertices", items.size(), vertices));
  }
  if (items.front().text() != "input") items.front().fail_here("the first vertex must be \"input\"");
  if (items.back().text() != "output") items.back().fail_here("the last vertex must be \"output\"");
  std::vector<std::string> ops;
  for (size_t i = 1; i + 1 < items.size(); ++i) {
    ops.push_back(items[i].text());
    if (const std::string unknown = unknown_operation(ops.back()); !unknown.empty()) items[i].fail_here(unknown);
  }
  return ops;
}

class NasBench101Form : public GenotypeForm {
 public:
  std::string obstacle(const Genotype& genotype) const override {
    if (genotype.cells.size() != 1 || genotype.cells[0].type != "cell" || genotype.cells[0].inputs != 1) {
      return "it is not one cell, of type 'cell', with one input";
    }
    const CellGenotype& cell = genotype.cells[0];
    std::vector<std::string> ops;
    for (const GenotypeNode& node : cell.nodes) {
      if (node.op.empty()) return "its operations are on edges";
      ops.push_back(node.op);
    }
    if (cell.output.empty()) return "its output takes no state";
    if (cell_of_matrix(adjacency_matrix(cell), ops) != cell) return "its edges are not plain, in order and different";
    return "";
  }

  std::string write(const Genotype& genotype) const override {
    std::vector<std::string> rows, ops = {"\"input\""};
    for (const auto& row : adjacency_matrix(genotype.cells[0]))
      rows.push_back(fmt::format("[{}]", fmt::join(row, ", ")));
    for (const GenotypeNode& node : genotype.cells[0].nodes) ops.push_back("\"" + node.op + "\"");
    ops.push_back("\"output\"");
    return fmt::format("{{\"matrix\": [{}],\n \"ops\": [{}]}}\n", join(rows, ",\n            "), join(ops, ", "));
  }

  bool recognises(const std::string& text) const override {
    return trim(text).starts_with("{") && text.find("\"matrix\"") != std::string::npos;
  }

  Genotype read(const std::string& text, const std::string& space) const override {
    const Json json = JsonReader::parse(text, kWhat);
    const JsonReader reader(json, kWhat);
    reader.check_keys({"matrix", "ops"});
    const AdjacencyMatrix matrix = read_matrix(reader.at("matrix"));
    const CellGenotype cell = cell_of_matrix(matrix, read_ops(reader.at("ops"), matrix.size()));
    if (cell.output.empty()) reader.at("matrix").fail_here("nothing leads to the output");
    return {space.empty() ? "nasbench101" : space, {cell}};
  }
};

}  // namespace

NASCENT_REGISTER(GenotypeForm, "nasbench101", "matrix and ops as JSON, as NAS-Bench-101 has them",
                 [] { return std::make_unique<NasBench101Form>(); });

}  // namespace nascent
