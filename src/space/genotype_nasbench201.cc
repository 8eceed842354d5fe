// The form of NAS-Bench-201: |nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+..., one group a node, one entry an edge.
#include "nascent/core/text.h"
#include "nascent/space/genotype_form.h"
#include "nascent/space/scanner.h"

namespace nascent {

namespace {

GenotypeNode read_node(Scanner& scanner, int state) {
  GenotypeNode node;
  scanner.expect("|");
  do {
    const size_t op_place = scanner.position();
    const std::string op = scanner.until("~|+");
    if (const std::string unknown = unknown_operation(op); !unknown.empty()) scanner.fail_at(op_place, unknown);
    scanner.expect("~");
    const size_t from_place = scanner.position();
    const int from = scanner.number(kMaxNodes);
    if (from >= state) {
      scanner.fail_at(from_place, fmt::format("node {} takes state {}, but the states before it are 0 to {}", state,
                                              from, state - 1));
    }
    if (from != static_cast<int>(node.edges.size())) {
      scanner.fail_at(
          from_place,
          fmt::format("expected state {} here: a node takes all states before it in their order", node.edges.size()));
    }
    node.edges.push_back({from, op});
    scanner.expect("|");
  } while (static_cast<int>(node.edges.size()) < state);
  return node;
}

class NasBench201Form : public GenotypeForm {
 public:
  std::string obstacle(const Genotype& genotype) const override {
    if (genotype.cells.size() != 1 || genotype.cells[0].type != "cell" || genotype.cells[0].inputs != 1) {
      return "it is not one cell, of type 'cell', with one input";
    }
    const CellGenotype& cell = genotype.cells[0];
    if (cell.nodes.empty()) return "it has an empty cell";
    if (cell.output != std::vector<int>{static_cast<int>(cell.nodes.size())}) return "its output is not its last node";
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      if (!cell.nodes[n].op.empty()) return "its operations are on nodes";
      if (cell.nodes[n].edges.size() != n + 1) return "it has nodes that do not take all states before them";
      for (size_t e = 0; e <= n; ++e) {
        if (cell.nodes[n].edges[e].from != static_cast<int>(e)) return "it has nodes whose edges are not in order";
      }
    }
    return "";
  }

  std::string write(const Genotype& genotype) const override {
    std::vector<std::string> nodes;
    for (const GenotypeNode& node : genotype.cells[0].nodes) {
      std::string text = "|";
      for (const GenotypeEdge& edge : node.edges) text += fmt::format("{}~{}|", edge.op, edge.from);
      nodes.push_back(std::move(text));
    }
    return join(nodes, "+");
  }

  bool recognises(const std::string& text) const override { return trim(text).starts_with("|"); }

  Genotype read(const std::string& text, const std::string& space) const override {
    Scanner scanner(text, "the NAS-Bench-201 genotype");
    CellGenotype cell{.type = "cell", .inputs = 1};
    do {
      if (cell.nodes.size() == 100) scanner.fail_here("there are more than 100 nodes");
      cell.nodes.push_back(read_node(scanner, static_cast<int>(cell.nodes.size()) + 1));
    } while (scanner.accept("+"));
    scanner.expect_end();
    if (space.empty() && cell.nodes.size() != 3) {
      scanner.fail_here(fmt::format("a NAS-Bench-201 cell has 3 nodes, but this one has {}", cell.nodes.size()));
    }
    cell.output = {static_cast<int>(cell.nodes.size())};
    return {space.empty() ? "nasbench201" : space, {cell}};
  }
};

}  // namespace

NASCENT_REGISTER(GenotypeForm, "nasbench201", "|op~0|+|op~0|op~1|+..., as NAS-Bench-201 names its architectures",
                 [] { return std::make_unique<NasBench201Form>(); });

}  // namespace nascent
