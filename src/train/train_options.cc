#include "nascent/train/trainer.h"

namespace nascent {

namespace {

constexpr const char* kSection = "train";
constexpr const char* kHelp = "Training of one network.";

}  // namespace

void TrainOptions::declare(OptionTable& table) {
  table.section(kSection, kHelp).add("epochs", epochs, "number of epochs").range(1, 1000000);
  declare_rest(table);
}

void TrainOptions::declare_without_epochs(OptionTable& table) {
  declare_rest(table);
  for (Option& option : table.options()) {
    if (option.section() == kSection) option.flag(option.key());
  }
}

void TrainOptions::declare_rest(OptionTable& table) {
  auto section = table.section(kSection, kHelp);
  optimizer.declare(table, kSection, kHelp, /*bare_flags=*/true);
  schedule.declare(table, kSection);
  section.add("label-smoothing", label_smoothing, "label smoothing").range(0, 1);
  section.add("auxiliary-weight", auxiliary_weight, "weight of the auxiliary head's loss").range(0, 100);
  section.add("ema", ema, "decay of a moving average of the weights that is evaluated and saved instead; 0: off")
      .range(0, 0.9999999);
}

}  // namespace nascent
