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
  OptimizerOptions optimizer;  // its learning rate serves every update
  double floor = 0;            // exponentiated gradient: no operation that takes part falls below it
  UpdateOptions();
  void declare(OptionTable& table);  // section "architecture"
};

struct UpdateSetup {
  const UpdateOptions& options;
  Relaxation& relaxation;
  double bound = 1;  // no gradient exceeds it (GradientOptions::bound)
};

struct UpdateFacts {
  std::vector<std::string> reads{};  // keys of options that only some updates make use of (see method_check.h)
  Domain domain = Domain::logits;    // what it moves
  bool optimizer = false;            // it takes steps of architecture.optimizer, whose own options it reads too
};

class ArchitectureUpdate : public Stateful {
 public:
  static std::string kind() { return "architecture update"; }
  using Registry =
      nascent::Registry<ArchitectureUpdate, std::unique_ptr<ArchitectureUpdate>(const UpdateSetup&), UpdateFacts>;
  virtual void step(const std::vector<at::Tensor>& gradients, const SearchPlace& place) = 0;
};

// The parameters as points of simplices, for updates that move those; an Error says what to choose where they are not.
ArchitectureParameters& simplex_of(const UpdateSetup& setup);

}  // namespace nascent
