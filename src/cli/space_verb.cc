// nascent space: lists the search spaces, or describes one and draws architectures from it.
#include <iostream>

#include "nascent/cli/verb.h"
#include "nascent/core/text.h"
#include "nascent/space/plan.h"

namespace nascent {
namespace {

std::string count_text(double count) {
  return count < 1e9 ? fmt::format("{:.0f}", count) : fmt::format("{:.2g}", count);
}

class SpaceVerb : public Verb {
 public:
  std::string arguments() const override { return "[SPACE]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("space", "What to do with a space.");
    section.add("sample", sample_, "print this many architectures, sampled at random").range(0, 1e9);
    section.add("enumerate", enumerate_, "print every architecture, one per line");
    section.add("form", form_, "text form; empty: the shortest one of the space");
    section.add("seed", seed_, "random seed for --sample").at_least(0);
  }

  Json run(const Invocation& invocation) override {
    const std::string name = invocation.argument("space", false);
    if (name.empty()) return list(invocation);
    const auto space = find_space(name);
    if (enumerate_ || sample_ > 0) return print_architectures(invocation, *space);
    return describe_space(invocation, *space);
  }

 private:
  static Json list(const Invocation& invocation) {
    Json all = Json::array();
    for (const auto& name : Space::Registry::instance().names()) {
      const auto space = find_space(name);
      invocation.print(
          fmt::format("{:<20} {:>9} architectures  {}", name, count_text(space->count()), space->description()));
      all.push_back({{"name", name}, {"count", space->count()}, {"description", space->description()}});
    }
    return all;
  }

  static Json describe_space(const Invocation& invocation, const Space& space) {
    Json cells = Json::array();
    invocation.print(fmt::format("{}: {}", space.name(), space.description()));
    invocation.print(fmt::format("architectures  {}", count_text(space.count())));
    invocation.print(fmt::format("operations     {}", join(space.ops(), ", ")));
    invocation.print(fmt::format("skeleton       {}, {} cells, {} channels while searching", space.skeleton(),
                                 space.default_cells(), space.default_channels()));
    for (const auto& cell : space.cells()) {
      const size_t edges = Space::edges(cell).size();
      invocation.print(fmt::format("cell {:<9} {} inputs, {} nodes, {} candidate edges, operations on {}", cell.type,
                                   cell.inputs, cell.nodes.size(), edges, cell.ops_on_nodes ? "nodes" : "edges"));
      cells.push_back({{"type", cell.type}, {"inputs", cell.inputs}, {"nodes", cell.nodes.size()}, {"edges", edges}});
    }
    return {{"name", space.name()},
            {"count", space.count()},
            {"ops", space.ops()},
            {"skeleton", space.skeleton()},
            {"cells", cells}};
  }

  std::string text(const Genotype& genotype) const {
    const auto forms = text_forms(genotype);
    const std::string form = form_.empty() ? forms.back() : form_;
    const std::string text = to_text(genotype, form);
    if (text.find('\n') == std::string::npos) return text;
    return Json::parse(text).dump();  // one per line: the forms of several lines are JSON
  }

  Json print_architectures(const Invocation& invocation, const Space& space) const {
    Json all = Json::array();
    const auto show = [&](const Genotype& genotype) {
      // A whole space is too large to keep; --json needs it kept.
      if (invocation.json)
        all.push_back(text(genotype));
      else
        std::cout << text(genotype) << '\n';
      return std::cout.good();
    };
    if (enumerate_) {
      space.enumerate(show);
    } else {
      for (int64_t i = 0; i < sample_; ++i) {
        RandomStream random(static_cast<uint64_t>(seed_), "sample", {static_cast<uint64_t>(i)});
        if (!show(space.sample(random))) break;
      }
    }
    return all;
  }

  int64_t sample_ = 0, seed_ = 1;
  bool enumerate_ = false;
  std::string form_;
};

NASCENT_REGISTER(Verb, "space", "lists the search spaces, or describes, samples and enumerates one",
                 [] { return std::make_unique<SpaceVerb>(); });

}  // namespace
}  // namespace nascent
