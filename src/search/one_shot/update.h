// Architecture updates: what is done with an architecture gradient. One axis of every weight-sharing method.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/train/optimizer.h"

namespace nascent {

struct UpdateOptions {
  std::string update = "optimizer";
  OptimizerOptions optimizer;  // its learning rate and clipping serve every update
  UpdateOptions();
  void declare(OptionTable& table);  // section "architecture"
};

struct UpdateSetup {
  const UpdateOptions& options;
  Relaxation& relaxation;
  double bound = 1;  // no gradient exceeds it (GradientOptions::bound)
};

class ArchitectureUpdate : public Stateful {
 public:
  static std::string kind() { return "architecture update"; }
  using Registry = nascent::Registry<ArchitectureUpdate, std::unique_ptr<ArchitectureUpdate>(const UpdateSetup&)>;
  virtual void step(const std::vector<at::Tensor>& gradients, const SearchPlace& place) = 0;
};

// The parameters as points of simplices, for updates that move those; an Error says what to choose where they are not.
ArchitectureParameters& simplex_of(const UpdateSetup& setup);

}  // namespace nascent
