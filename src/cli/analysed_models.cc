#include "nascent/cli/analysed_models.h"

#include "nascent/analysis/topology.h"
#include "nascent/core/error.h"
#include "nascent/train/model.h"

namespace nascent {
namespace {

// "runs/train-3/model.nascent" is known by its folder.
std::string name_of(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem == "model" && path.has_parent_path() ? path.parent_path().filename().string() : stem;
}

std::filesystem::path model_file(const std::string& path) {
  const std::filesystem::path inside = std::filesystem::path(path) / "model.nascent";
  return std::filesystem::exists(inside) ? inside : std::filesystem::path(path);
}

}  // namespace

AnalysedModels open_models(const std::vector<std::string>& paths, DataOptions options, int images) {
  if (paths.empty()) fail("A trained model was expected, as in 'nascent analyze landscape runs/train-darts-1'.");
  AnalysedModels opened;
  for (const std::string& path : paths) {
    const std::filesystem::path file = model_file(path);
    Model model = load_model(file);
    std::string name = name_of(std::filesystem::absolute(file));
    for (const LandscapeModel& other : opened.models) name += other.name == name ? "-again" : "";
    opened.models.push_back({name, std::filesystem::absolute(file)});
    opened.groups.push_back(topology_title(topology_of(model.genotype.cells.front())));
    if (!opened.first) {
      if (options.eval_transforms.empty()) options.eval_transforms = model.eval_transforms;
      options.limit_test = images;
      opened.data = std::make_unique<ImageData>(options, 0, model.statistics);
      opened.first = model.network;
    }
    const Shape found = opened.data->shape();
    if (!(model.input == found) || static_cast<int>(model.class_names.size()) != opened.data->classes()) {
      fail(
          "{} takes images of {}x{}x{} and knows {} classes; the data has {}x{}x{} and {}. Name its data set with "
          "--data.",
          path, model.input.channels, model.input.height, model.input.width, model.class_names.size(), found.channels,
          found.height, found.width, opened.data->classes());
    }
  }
  if (images > opened.data->test_size()) {
    fail("{} test images were asked for, but the data set has {}. Lower --images, or use 0 for all.", images,
         opened.data->test_size());
  }
  return opened;
}

}  // namespace nascent
