// nascent analyze variants: random and extreme variants of a cell, as genotype files and one table.
#include "nascent/analysis/variants.h"
#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/cell_gallery.h"
#include "nascent/space/plan.h"

namespace nascent {
namespace {

class AnalyzeVariantsVerb : public Verb {
 public:
  std::string arguments() const override { return "GENOTYPE"; }

  void declare(OptionTable& table) override {
    options_.declare(table);
    auto section = table.section("analyze", "What is written, and for which network sizes are counted.");
    section.add("out", out_, "folder for the genotype files, variants.csv and cells.svg");
    section.add("seed", seed_, "of the draws").at_least(0);
    section.add("input", input_, "channels, height and width of the images for which sizes are computed");
    section.add("classes", classes_, "number of classes for which sizes are computed").range(1, 1e6);
    network_.declare(table);
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("genotype");
    if (input_.size() != 3) fail("--input: expected channels, height and width, as in --input 3,32,32.");
    const Shape shape{static_cast<int>(input_[0]), static_cast<int>(input_[1]), static_cast<int>(input_[2])};
    const std::string stem = std::filesystem::path(name).stem().string();
    const std::vector<Variant> variants =
        make_variants(stem, find_genotype(name), options_, static_cast<uint64_t>(seed_));
    const std::string csv = variants_csv(variants, network_, shape, classes_);
    if (!out_.empty()) write(variants, csv);
    return report(invocation, variants, shape);
  }

 private:
  void write(const std::vector<Variant>& variants, const std::string& csv) const {
    const std::filesystem::path folder(out_);
    std::filesystem::create_directories(folder);
    std::vector<TitledCell> cells;
    for (const Variant& variant : variants) {
      write_file(folder / (variant.name + ".json"), to_text(variant.genotype, "json"));
      cells.push_back(
          {fmt::format("{}: {}", variant.kind, topology_title(variant.topology)), variant.genotype.cells[0]});
    }
    write_file(folder / "variants.csv", csv);
    for (const std::string format : {"svg", "png"}) {
      if (const auto picture = draw_cells(cells, format)) write_file(folder / ("cells." + format), *picture);
    }
  }

  Json report(const Invocation& invocation, const std::vector<Variant>& variants, const Shape& shape) const {
    Json rows = Json::array();
    for (const Variant& variant : variants) {
      const NetworkPlan plan =
          plan_network(*find_space(variant.genotype.space), variant.genotype, network_, shape, classes_);
      const int64_t parameters = count_parameters(plan, network_.auxiliary);
      invocation.print(fmt::format("{:<32} {:<12} {:<10} {:>9} parameters {:>9} multiply-adds  space {}", variant.name,
                                   variant.kind, topology_title(variant.topology), engineering(parameters),
                                   engineering(count_multiply_adds(plan)), variant.genotype.space));
      rows.push_back({{"name", variant.name},
                      {"kind", variant.kind},
                      {"width", variant.topology.width},
                      {"depth", variant.topology.depth},
                      {"space", variant.genotype.space},
                      {"parameters", parameters},
                      {"multiply_adds", count_multiply_adds(plan)}});
    }
    return {{"variants", rows}};
  }

  VariantOptions options_;
  std::string out_;
  int64_t seed_ = 1;
  std::vector<double> input_ = {3, 32, 32};
  int classes_ = 10;
  NetworkOptions network_;
};

NASCENT_REGISTER(Verb, "analyze variants", "generates random and extreme variants of a cell",
                 [] { return std::make_unique<AnalyzeVariantsVerb>(); });

}  // namespace
}  // namespace nascent
