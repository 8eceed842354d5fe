#include "nascent/core/version.h"
#include "nascent/data/normalisation.h"
#include "nascent/export/export_format.h"

namespace nascent {

std::vector<std::pair<std::string, std::string>> metadata_of(const Model& model) {
  const auto text = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  const auto normalisation = normalisation_of(model.eval_transforms, model.statistics, model.input.channels);
  return {{"class_names", text(model.class_names)},
          {"data", model.data.name},
          {"deviation", text(normalisation.deviation)},
          {"eval_transforms", text(model.eval_transforms)},
          {"genotype", to_text(model.genotype, "json")},
          {"input", model.input.text()},
          {"mean", text(normalisation.mean)},
          {"producer", "nascent " + version()},
          {"results", text(model.results)},
          {"space", model.genotype.space}};
}

}  // namespace nascent
