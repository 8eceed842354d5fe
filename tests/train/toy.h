// Small data, networks and jobs that the tests of this room share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/events.h"
#include "nascent/core/log.h"
#include "nascent/core/random.h"
#include "nascent/data/loader.h"
#include "nascent/data/memory_dataset.h"
#include "nascent/nn/network.h"
#include "nascent/space/space.h"
#include "nascent/train/trainer.h"
#include "temporary_folder.h"

namespace nascent::toy {

// Dozens of small runs would fill the screen with their progress.
inline const bool quiet = (log::set_level(log::Level::error), true);

using Folder = TemporaryFolder;

class Recorder : public EventSink {
 public:
  void emit(const Event& event) override { events.push_back(event); }
  void rewind(int64_t step) override {
    std::erase_if(events, [step](const Event& event) { return event.step > step; });
    rewound_to = step;
  }
  std::vector<Event> of(const std::string& kind) const {
    std::vector<Event> found;
    for (const auto& event : events) {
      if (event.kind == kind) found.push_back(event);
    }
    return found;
  }

  std::vector<Event> events;
  int64_t rewound_to = -1;
};

constexpr int kSide = 8;

// Grey noise whose brighter half says the class: left (0), right (1) or none (2).
inline std::shared_ptr<const Dataset> dataset(int size, uint64_t seed = 0) {
  MemoryDataset::Contents contents{"toy", {1, kSide, kSide}, {}, {}, {"left", "right", "none"}, {}};
  RandomStream random(seed, "toy");
  for (int i = 0; i < size; ++i) {
    const int64_t label = i % 3;
    contents.labels.push_back(label);
    for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
      const bool bright = label < 2 && (pixel % kSide < kSide / 2) == (label == 0);
      contents.pixels.push_back(static_cast<uint8_t>((bright ? 150 : 50) + random.below(50)));
    }
  }
  return std::make_shared<MemoryDataset>(std::move(contents));
}

inline std::unique_ptr<Loader> loader(const std::shared_ptr<const Dataset>& data, int batch, bool train) {
  std::vector<int64_t> indices(data->size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  std::vector<std::string> transforms;
  if (train) transforms = {"pad-crop 1", "cutout 2"};
  const TransformPipeline pipeline(transforms, {{0.35}, {0.2}}, data->shape());
  LoaderOptions options;
  options.batch = batch;
  options.shuffle = options.drop_last = train;
  options.seed = 7;
  options.purpose = train ? "train" : "valid";
  return std::make_unique<Loader>(data, std::move(indices), pipeline, options);
}

inline Genotype genotype() {
  return parse_genotype("|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|avg_pool_3x3~2|");
}

inline std::shared_ptr<Network> network(uint64_t seed = 3) {
  NetworkOptions options;
  options.channels = 4;
  options.cells = 1;
  const auto space = find_space("nasbench201");
  return std::make_shared<Network>(plan_network(*space, genotype(), options, {1, kSide, kSide}, 3), seed);
}

inline TrainOptions options(int epochs) {
  TrainOptions options;
  options.epochs = epochs;
  options.optimizer.lr = 0.05;
  options.schedule.warmup_epochs = 0.5;
  return options;
}

// 4 steps an epoch.
inline std::unique_ptr<Trainer> trainer(const TrainOptions& options, bool valid = true) {
  return std::make_unique<Trainer>(network(), loader(dataset(50), 12, true),
                                   valid ? loader(dataset(31, 1), 16, false) : nullptr, options, 0.2, 5);
}

}  // namespace nascent::toy
