// Several trained networks as one model in one file, ensemble.nascent: whoever takes a model can take this.
//
//   EnsembleModel model = load_ensemble("ensemble.nascent");   // a model.nascent alone is an ensemble of one
//   Probabilities answer = combine(predict_members(model, loader_for).members, model.combine, model.weights);
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nascent/ensemble/combination.h"
#include "nascent/train/model.h"

namespace nascent {

struct EnsembleModel {
  std::vector<Model> members{};
  std::vector<double> weights{};  // of the members; empty: all the same
  Combination combine = Combination::probabilities;
  // MC DropPath: every member answers so many times, each time with edges dropped at random, the same for all images.
  // 1: as it is.
  int passes = 1;
  double drop_path = 0;
  uint64_t seed = 0;       // of what is dropped
  double temperature = 1;  // of every member's probabilities before they are combined

  const Model& first() const { return members.front(); }
  int64_t parameters() const;
  int64_t multiply_adds() const;  // of all members and passes
};

// What every member (and every pass) says about the images of a loader.
struct MemberPredictions {
  Members members{};
  Labels labels{};
};
// Images as a member wants them: members may normalise by different means.
using LoaderFor = std::function<std::unique_ptr<Loader>(const Model&)>;
MemberPredictions predict_members(const EnsembleModel& model, const LoaderFor& loader);

// An Error where members differ in classes or in the shape of their images.
void check_ensemble(const EnsembleModel& model);

void save_ensemble(const EnsembleModel& model, const std::filesystem::path& path);
// `path` may be a run folder that holds one.
EnsembleModel load_ensemble(const std::filesystem::path& path);
// From a list of files, each a model or an ensemble, or of run folders that hold one.
EnsembleModel gather_ensemble(const std::vector<std::string>& files);
// Whether the file, or the run folder, holds an ensemble and not a single model.
bool is_ensemble(const std::filesystem::path& path);

}  // namespace nascent
