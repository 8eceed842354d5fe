// Victims from files, and the images to attack them with: pixels from 0 to 1 as they are before a model normalises
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nascent/attack/attacked.h"
#include "nascent/attack/victim.h"
#include "nascent/data/data_options.h"

namespace nascent {

struct Victims {
  std::vector<VictimPointer> members;
  VictimPointer whole;            // the only member, or the ensemble of all
  std::vector<double> deviation;  // what all members divide their channels by; empty where they differ or do nothing
};

struct PixelImages {
  Attacked all;
  Shape shape;
  int64_t classes = 0;
  std::vector<std::string> class_names;
};

// MC DropPath: every member answers so many times, each time with paths dropped at random.
struct RandomPasses {
  int passes = 1;
  double drop_path = 0;
  uint64_t seed = 0;

  bool plain() const { return passes == 1 && drop_path == 0; }
  // What pass `pass` of member `member` drops.
  DroppedPaths dropped(size_t member, int pass) const;
};

// What a file of ours holds: one model, or the members of an ensemble and how they become one.
struct ModelFile {
  std::vector<Model> members;
  Averaging averaging{};
  RandomPasses random{};
};
using ReadModels = std::function<ModelFile(const std::filesystem::path&)>;
ModelFile read_model(const std::filesystem::path& path);

// Files of ours, run folders that hold one, or TorchScript files; several make an ensemble. `script` normalises what
// TorchScript files see.
class VictimFiles {
 public:
  VictimFiles(const std::vector<std::string>& paths, ChannelStatistics script, const ReadModels& read = read_model);

  // Which data: what is asked for, or where that names none, what the first model was trained on.
  DataOptions data(DataOptions asked) const;
  // The test images as the models want them before they normalise, `count` of them as the seed chooses.
  PixelImages images(const DataOptions& data, int64_t count, uint64_t seed) const;
  // An Error where members do not fit one another or the images.
  Victims load(const PixelImages& images);
  // Of the files' bytes and of these images.
  std::string digest(const PixelImages& images) const;

 private:
  struct File {
    std::string path, name;
    bool script = false;
    std::shared_ptr<Model> model{};
  };
  void open(const std::string& path, const ReadModels& read);
  void check_transforms() const;
  void check_fit(const File& file, const PixelImages& images) const;
  const Model* first_model() const;  // null where there are TorchScript files only

  std::vector<File> files_;
  ChannelStatistics script_;
  Averaging averaging_;
  RandomPasses random_;
};

// The transforms of bytes in a list for evaluation: what comes before a model's own normalisation.
std::vector<std::string> pixel_transforms(const std::vector<std::string>& specs);
// What a list normalises with: the numbers of its own "normalise", or those given.
ChannelStatistics normalisation(const std::vector<std::string>& specs, const ChannelStatistics& otherwise);

}  // namespace nascent
