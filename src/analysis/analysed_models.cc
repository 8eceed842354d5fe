#include "nascent/analysis/analysed_models.h"

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/framed_file.h"
#include "nascent/core/log.h"
#include "nascent/train/model_data.h"

namespace nascent {
namespace {

// "runs/train-3/model.nascent" is known by its folder.
std::string name_of(const std::filesystem::path& path) {
  const std::string stem = path.stem().string();
  return stem == "model" && path.has_parent_path() ? path.parent_path().filename().string() : stem;
}

std::string free_name(const std::string& name, const std::vector<LandscapeModel>& taken) {
  const auto is_taken = [&](const std::string& text) {
    return std::any_of(taken.begin(), taken.end(), [&](const LandscapeModel& model) { return model.name == text; });
  };
  for (int number = 2; is_taken(name); ++number) {
    if (const std::string next = fmt::format("{}-{}", name, number); !is_taken(next)) return next;
  }
  return name;
}

void open_data(AnalysedModels& opened, const Model& model, const DataOptions& asked, const ImageCount& images) {
  DataOptions chosen = data_of(model, asked);
  const int own = chosen.limit_test;
  chosen.limit_test = images.wanted > 0 && (own == 0 || images.wanted < own) ? images.wanted : own;
  opened.data = std::make_unique<ImageData>(chosen, model.data_seed, model.statistics);
  opened.data_name = data_text(chosen);
  const int64_t there = opened.data->test_size();
  if (images.wanted <= there) return;
  if (images.wanted != images.usual) {
    fail("{} test images were asked for, but {} has {}. Lower {}, or use 0 for all.", images.wanted, opened.data_name,
         there, images.flag);
  }
  log::info("{} has {} test images, fewer than the usual {} ({}): all of them are taken.", opened.data_name, there,
            images.usual, images.flag);
}

}  // namespace

std::vector<size_t> AnalysedModels::by_width() const {
  std::vector<size_t> order(models.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-topology[a].width, topology[a].depth) < std::pair(-topology[b].width, topology[b].depth);
  });
  return order;
}

Json AnalysedModels::describe(size_t model) const {
  return {{"name", models[model].name},
          {"topology", group(model)},
          {"width", topology[model].width},
          {"depth", topology[model].depth},
          {"digest", digest_of(model)}};
}

std::string AnalysedModels::facts(size_t model, int64_t images, const std::string& norms, int pair,
                                  const LandscapeOptions& grid, int64_t seed) const {
  return fmt::format("of {} ({}) on {} test images of {}; norms {}, directions {} of {}{}, seed {}.",
                     models[model].name, group(model), images, data_name, norms, pair + 1, grid.directions,
                     grid.filters ? ", filter-normalised" : "", seed);
}

std::string AnalysedModels::digest() const {
  std::string all = std::to_string(data->digest());
  for (size_t model = 0; model < models.size(); ++model) all += " " + digest_of(model);
  return all;
}

std::string AnalysedModels::digest_of(size_t model) const {
  return digest_of_framed_file(read_file(models[model].path));
}

ImageBatches AnalysedModels::calibration(bool wanted, int images) const {
  if (!wanted) return {};
  return load_batches(*data->evaluation(data->all()), *first, images);
}

std::string norms_text(const std::string& norms, const ImageBatches& calibration) {
  if (norms != "recalibrated") return norms;
  return fmt::format("{} on {} training images", norms, count_images(calibration));
}

AnalysedModels open_models(const std::vector<std::string>& paths, const DataOptions& data, const ImageCount& images) {
  if (paths.empty()) fail("A trained model was expected, as in 'nascent analyze landscape runs/train-darts-1'.");
  AnalysedModels opened;
  for (const std::string& path : paths) {
    const std::filesystem::path file = model_file(path);
    const Model model = load_model(file);
    const auto absolute = std::filesystem::absolute(file).lexically_normal();
    opened.models.push_back({free_name(name_of(absolute), opened.models), absolute});
    opened.topology.push_back(topology_of(model.genotype.cells.front()));
    if (!opened.first) {
      open_data(opened, model, data, images);
      opened.first = model.network;
    }
    check_fits(model, *opened.data);
  }
  return opened;
}

void settle_data(const std::vector<std::string>& paths, DataOptions& data) {
  if (data.name.empty() && !paths.empty()) data = data_of(load_model(paths.front()), data);
}

}  // namespace nascent
