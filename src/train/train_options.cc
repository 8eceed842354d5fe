#include "nascent/train/trainer.h"

namespace nascent {

void TrainOptions::declare(OptionTable& table) {
  constexpr const char* kSection = "train";
  const std::string help = "Training of one network.";
  auto section = table.section(kSection, help);
  section.add("epochs", epochs, "passes over the training data").range(1, 1000000);
  optimizer.declare(table, kSection, help);
  schedule.declare(table, kSection);
  section.add("label-smoothing", label_smoothing, "share of the target spread evenly over all classes").range(0, 1);
  section.add("auxiliary-weight", auxiliary_weight, "weight of the auxiliary head's loss").range(0, 100);
  section.add("ema", ema, "decay of a moving average of the weights that is evaluated and saved instead; 0: off")
      .range(0, 0.9999999);
}

}  // namespace nascent
