// nascent genotype: shows an architecture: its cells, text forms, size and shape, and a picture.
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/subprocess.h"
#include "nascent/space/drawing.h"
#include "nascent/space/genotype_space.h"
#include "nascent/space/plan.h"

namespace nascent {
namespace {

class GenotypeVerb : public Verb {
 public:
  std::string arguments() const override { return "[GENOTYPE]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("genotype", "What is shown.");
    section.add("form", form_, "print only this text form: json, darts, nasbench201, nasbench101");
    section.add("draw", draw_, "write a picture of the cells to this file: .svg, .png, .pdf or .dot");
    section.add("input", input_, "channels, height and width of the images for which sizes are computed");
    section.add("classes", classes_, "number of classes for which sizes are computed").range(1, 1e6);
    network_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("genotype", false);
    if (name.empty()) return list(invocation);
    const Genotype genotype = find_genotype(name);
    if (!draw_.empty()) draw(genotype);
    if (!form_.empty()) {
      invocation.print(to_text(genotype, form_));
      return {{form_, to_text(genotype, form_)}};
    }
    return show(invocation, genotype, *space_of_genotype(name));
  }

 private:
  static Json list(const Invocation& invocation) {
    for (const auto& name : known_genotypes()) invocation.print(name);
    return known_genotypes();
  }

  Json show(const Invocation& invocation, const Genotype& genotype, const Space& space) const {
    if (input_.size() != 3) fail("--input: expected channels, height and width, as in --input 3,32,32.");
    const Shape shape{static_cast<int>(input_[0]), static_cast<int>(input_[1]), static_cast<int>(input_[2])};
    const NetworkPlan plan = plan_network(space, genotype, network_, shape, classes_);
    Json result = {{"parameters", count_parameters(plan)}, {"multiply_adds", count_multiply_adds(plan)}};
    invocation.print(describe(genotype));
    invocation.print(fmt::format("space          {}", genotype.space));
    invocation.print(fmt::format("parameters     {}", engineering(count_parameters(plan))));
    invocation.print(fmt::format("multiply-adds  {} per image of {}x{}x{}", engineering(count_multiply_adds(plan)),
                                 shape.channels, shape.height, shape.width));
    for (const auto& cell : genotype.cells) {
      invocation.print(fmt::format("{:<14} width {:.3g}c, depth {}", cell.type, cell_width(cell), cell_depth(cell)));
      result["cells"].push_back({{"type", cell.type}, {"width", cell_width(cell)}, {"depth", cell_depth(cell)}});
    }
    for (const auto& form : text_forms(genotype)) {
      if (form != "json") invocation.print("\n" + to_text(genotype, form));
      result["forms"][form] = to_text(genotype, form);
    }
    return result;
  }

  void draw(const Genotype& genotype) const {
    const std::string extension = std::filesystem::path(draw_).extension().string();
    if (extension == ".dot") return write_file(draw_, to_dot(genotype));
    if (extension != ".svg" && extension != ".png" && extension != ".pdf") {
      fail("--draw {}: the name must end in .svg, .png, .pdf or .dot.", draw_);
    }
    const auto outcome = run_program({"dot", "-T" + extension.substr(1)}, to_dot(genotype));
    if (!outcome || outcome->exit_code != 0)
      fail("--draw: graphviz's 'dot' did not run; install the package graphviz.");
    write_file(draw_, outcome->out);
  }

  std::string form_, draw_;
  std::vector<double> input_ = {3, 32, 32};
  int classes_ = 10;
  NetworkOptions network_;
};

NASCENT_REGISTER(Verb, "genotype", "shows an architecture: cells, text forms, size, width and depth, and a picture",
                 [] { return std::make_unique<GenotypeVerb>(); });

}  // namespace
}  // namespace nascent
