#include "nascent/nn/fused_form.h"

#include "nascent/nn/layer_rule.h"

namespace nascent {

bool is_depthwise(const Stage& stage) { return stage.groups == stage.in && stage.in == stage.out && stage.groups > 1; }

bool has_fused_form(const Stages& stages) {
  // Of what the next stage reads: the result of a unit (or still the state), and what has been done to it since. States
  // are not normalised, because others read them as they are; and of them only, some channels can be read.
  bool of_unit = false, normalised = false, rectified = false;
  for (const Stage& stage : stages) {
    const FusedForm& form = layer_rule(stage.kind).facts.fused;
    if (form.fits && !form.fits(stage)) return false;
    switch (form.role) {
      case FusedForm::Role::none:
        return false;
      case FusedForm::Role::rectifier:
        rectified = true;
        continue;
      case FusedForm::Role::norm:
        if (!of_unit || normalised || rectified) return false;
        normalised = true;
        continue;
      case FusedForm::Role::selection:
        if (of_unit) return false;
        continue;
      case FusedForm::Role::convolution:
        break;
      case FusedForm::Role::pool:
        if (normalised || rectified) return false;
        break;
    }
    of_unit = true;
    normalised = rectified = false;
  }
  return normalised || !rectified;
}

}  // namespace nascent
