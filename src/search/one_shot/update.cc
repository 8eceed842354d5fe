#include "nascent/search/one_shot/update.h"

namespace nascent {

UpdateOptions::UpdateOptions() {
  optimizer.optimizer = "adam";
  optimizer.lr = 3e-4;
  optimizer.beta1 = 0.5;
  optimizer.weight_decay = 1e-3;
  optimizer.clip = 0;
}

void UpdateOptions::declare(OptionTable& table) {
  auto section = table.section("architecture", "How the architecture parameters are updated.");
  section.add("update", update, "update rule for the architecture parameters")
      .one_of(ArchitectureUpdate::Registry::instance().names());
  section.add("floor", floor, "exponentiated gradient: lower bound on the weight of an operation (1e-5 in GAEA's code)")
      .range(0, 0.1);
  optimizer.declare(table, "architecture", "");
}

ArchitectureParameters& simplex_of(const UpdateSetup& setup) {
  ArchitectureParameters* architecture = setup.relaxation.architecture();
  if (architecture == nullptr || architecture->domain() != Domain::simplex) {
    fail(
        "The update '{}' moves points of a simplex: use --relaxation simplex, or gumbel or concrete with --domain "
        "simplex.",
        setup.options.update);
  }
  return *architecture;
}

}  // namespace nascent
